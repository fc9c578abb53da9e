import type { ResponseHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";

/** The agent keeps an idle connection for longer than this; other programs in a sandbox may not. */
const KEEP_AGENT_MS = 4000;
const KEEP_OTHER_MS = 1000;

/** The name under which connections to a port of a sandbox are kept. An address may belong to another sandbox later, an incarnation never. */
export const upstreamKey = (sandboxId: string, incarnation: number, port: number): string => `${sandboxId}:${incarnation}:${port}`;

/** How long an idle connection to this port of a sandbox is kept for another request. A program may announce in `Keep-Alive` how long it keeps the connection. */
export function keepMs(port: number, response: ResponseHead | undefined): number {
  if (port === AGENT_PORT) return KEEP_AGENT_MS;
  const announced = /timeout=(\d+)/.exec(response?.fields.get("keep-alive") ?? "");
  return announced ? Math.min(KEEP_OTHER_MS, (Number(announced[1]) * 1000) / 2) : KEEP_OTHER_MS;
}
