import { type GuestEntry, MAX_TEXT } from "@boxyard/agent-client";
import { GUEST_PLACE, type SandboxLogLine, type SandboxRecord } from "../store/index.ts";

/** Name and password in the address of a request, as commands of git have them. */
const CREDENTIALS = /\/\/[^\s/@]{1,500}@/g;
/** What may be the beginning of them, at the end of a text that was cut off there. */
const CUT_CREDENTIALS = /\/\/[^\s/@]{1,500}$/;
/** What a terminal takes as an order, ends a line, or turns the direction of the text around; PostgreSQL takes no NUL. Clients print lines as they are. */
const ORDERS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function clean(text: string): string {
  const shown = text.toWellFormed().replaceAll(ORDERS, (order) => (order === "\t" ? order : " "));
  const whole = text.length < MAX_TEXT ? shown : shown.replace(CUT_CREDENTIALS, "//…");
  return whole.replaceAll(CREDENTIALS, "//…@");
}

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
