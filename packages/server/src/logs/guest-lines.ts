import type { GuestEntry } from "@boxyard/agent-client";
import { GUEST_PLACE, type SandboxLogLine, type SandboxRecord } from "../store/index.ts";

/** Name and password in the address of a request, as commands of git have them. */
const CREDENTIALS = /\/\/[^\s/@]{1,256}@/g;
/** PostgreSQL takes no NUL. */
const clean = (text: string) => text.replaceAll("\0", "").toWellFormed().replaceAll(CREDENTIALS, "//…@");

const VERBS = { started: "Command started", ended: "Command ended", agent: "Agent" } as const;

/**
 * What a guest says as lines of its sandbox's log, marked as the guest's word. Entries from before the sandbox are of the sandbox that it was copied from.
 * The guest says when something was, but no later than `now`.
 */
export function guestLines(record: SandboxRecord, entries: readonly GuestEntry[], now: number): SandboxLogLine[] {
  const own = entries.filter(({ at }) => at >= record.createdAt);
  return own.map(({ seq, at, kind, text, pid, exitCode, ms }) => ({
    sandboxId: record.id,
    at: Math.min(at, now),
    place: GUEST_PLACE + seq,
    level: kind === "agent" ? "warn" : "info",
    message: `${VERBS[kind]}: ${clean(text)}`,
    fields: {
      logger: "guest",
      event: kind === "agent" ? "agent" : `command_${kind}`,
      ...(pid !== undefined && { pid: String(pid) }),
      ...(exitCode !== undefined && { exitCode: String(exitCode) }),
      ...(ms !== undefined && { ms: String(ms) }),
    },
  }));
}
