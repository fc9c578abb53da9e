import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { text, unchecked } from "../connection/unchecked.ts";
import { withQuery } from "../connection/with-query.ts";

/** What a sandbox, or the sandboxes of a day, have used. */
export interface UsageInfo {
  readonly cpuSeconds: number;
  /** Memory in use, in MiB, added up over the seconds that it was in use. */
  readonly memoryMiBSeconds: number;
  /** Time that they ran, without pauses. */
  readonly runningSeconds: number;
  readonly networkReceivedBytes: number;
  readonly networkSentBytes: number;
}

export interface SandboxUsage extends UsageInfo {
  readonly sandboxId: string;
  /** When and why it ended; undefined while it has not. */
  readonly endedAt: Date | undefined;
  readonly reason: string | undefined;
}

export interface DayUsage extends UsageInfo {
  /** Day in UTC: `2026-11-25`. */
  readonly date: string;
  /** Sandboxes that were created. */
  readonly sandboxes: number;
}

export interface UsageOptions extends ConnectionOptions {
  /** First day, `2026-11-01`; by default 29 days before the last. */
  readonly from?: string | undefined;
  /** Last day; by default today (UTC). */
  readonly to?: string | undefined;
}

/** What the sandboxes of your team have used. */
export class Usage {
  private constructor() {}

  /** What the team has used on each day, oldest first. Days without usage are left out. */
  static days(opts: UsageOptions = {}): Promise<DayUsage[]> {
    const query = new URLSearchParams();
    if (opts.from) query.set("from", opts.from);
    if (opts.to) query.set("to", opts.to);
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: `/usage${withQuery(query)}`,
      what: "read usage",
      read: async (response) => {
        const { days } = unchecked<wire.TeamUsage>(await response.json());
        return Array.isArray(days) ? days.map(dayFromJson) : [];
      },
    });
  }

  /** What a sandbox has used since its creation; also of one that has ended, for two days. */
  static ofSandbox(id: string, opts: ConnectionOptions = {}): Promise<SandboxUsage> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: `/sandboxes/${encodeURIComponent(id)}/usage`,
      what: `read usage of sandbox ${id}`,
      read: async (response) => {
        const json = unchecked<wire.SandboxUsage>(await response.json());
        return {
          sandboxId: id,
          ...usageFromJson(json),
          endedAt: text(json.endedAt) === undefined ? undefined : new Date(String(json.endedAt)),
          reason: text(json.reason),
        };
      },
    });
  }
}

function dayFromJson(value: unknown): DayUsage {
  const json = unchecked<wire.UsageDay>(value);
  return { date: String(json.date), sandboxes: Number(json.sandboxes ?? 0), ...usageFromJson(json) };
}

function usageFromJson(value: unknown): UsageInfo {
  const json = unchecked<wire.Usage>(value);
  const number = (field: keyof wire.Usage) => Number(json[field] ?? 0);
  return {
    cpuSeconds: number("cpuSeconds"),
    memoryMiBSeconds: number("memoryMiBSeconds"),
    runningSeconds: number("runningSeconds"),
    networkReceivedBytes: number("networkReceivedBytes"),
    networkSentBytes: number("networkSentBytes"),
  };
}
