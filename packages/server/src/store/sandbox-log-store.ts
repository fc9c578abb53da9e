import type { SandboxId } from "@boxyard/core";
import type { BuildLogLevel } from "./records.ts";
import type { LogsAt } from "./template-store.ts";

/** Lines of which the guest is the author have places from here on, lines of the server have lower ones. */
export const GUEST_PLACE = 2 ** 46;

/** One line of a sandbox's log, for its owner. */
export interface SandboxLogLine {
  readonly sandboxId: SandboxId;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** Orders lines of one millisecond. */
  readonly place: number;
  readonly level: BuildLogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface SandboxLogQuery extends LogsAt {
  /** Only lines whose message has this text; case does not matter. */
  readonly search?: string;
}

/** The logs of sandboxes. */
export interface SandboxLogStore {
  /** Adds lines, and keeps of each of their sandboxes the newest `keep` of the server and as many of the guest: neither displaces the other's. A line with the same sandbox, time and place is not replaced. */
  add(lines: readonly SandboxLogLine[], keep: number): Promise<void>;
  /** Lines from a time on, or up to it, newest first. */
  read(id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]>;
}
