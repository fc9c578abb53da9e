import type { Store } from "../store/index.ts";
import { GuestLog, type GuestLogParts } from "./guest-log.ts";
import { SandboxLogs } from "./sandbox-logs.ts";

interface LogParts extends Pick<GuestLogParts, "sandboxes" | "clock" | "logger"> {
  readonly store: Store;
  readonly routes: { find(id: string): { readonly agentAnswers: number } | undefined };
  readonly tokens: { access(id: string): string };
}

/** What writes the logs of sandboxes: the server's own lines, and those of the guests. */
export function logsOf({ routes, tokens, ...parts }: LogParts): { sandboxLogs: SandboxLogs; guests: GuestLog } {
  const answersOf = (id: string) => routes.find(id)?.agentAnswers ?? 0;
  return {
    sandboxLogs: new SandboxLogs(parts.store, parts.clock, parts.logger),
    guests: new GuestLog({ ...parts, answersOf, tokenOf: (id) => tokens.access(id) }),
  };
}
