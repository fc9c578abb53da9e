import type { Route } from "../../proxy/route-table.ts";
import type { Sandbox } from "./sandbox.ts";

type Used = Pick<Route, "flights">;

/**
 * When a running sandbox will have been idle for as long as it may, in wall time; undefined if it may be idle for all its time. A request in flight counts
 * as use until it ends, so this moves on while there is one.
 */
export function idleEndOf({ record, idleRetryAt }: Pick<Sandbox, "record" | "idleRetryAt">, route: Used | undefined): number | undefined {
  const { idleMs } = record.settings;
  return idleMs === undefined || !route ? undefined : Math.max(route.flights.lastUse + idleMs, idleRetryAt);
}

/** What clients see of it. */
export interface IdleTimes {
  readonly timeoutMs: number;
  /** When it was used last; undefined while a request is in flight, and while it does not run. */
  readonly since?: number;
  /** When it ends if nothing uses it. */
  readonly endAt?: number;
}

/** Undefined for a sandbox that may be idle for all its time. */
export function idleTimesOf(sandbox: Pick<Sandbox, "record" | "idleRetryAt">, route: Used | undefined): IdleTimes | undefined {
  const timeoutMs = sandbox.record.settings.idleMs;
  if (timeoutMs === undefined) return undefined;
  const endAt = idleEndOf(sandbox, route);
  if (!route || endAt === undefined || route.flights.size > 0) return { timeoutMs };
  return { timeoutMs, since: route.flights.lastUse, endAt: Math.min(endAt, sandbox.record.endAt) };
}
