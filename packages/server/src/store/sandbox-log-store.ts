import type { SandboxId } from "@boxyard/core";
import type { BuildLogLevel } from "./records.ts";
import type { LogsAt } from "./template-store.ts";

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
  /** Adds lines, and keeps the newest `keep` of each of their sandboxes. A line with the same sandbox, time and place is not replaced. */
  add(lines: readonly SandboxLogLine[], keep: number): Promise<void>;
  /** Lines from a time on, or up to it, newest first. */
  read(id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]>;
}
