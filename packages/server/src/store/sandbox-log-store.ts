import type { SandboxId } from "@boxyard/core";
import type { BuildLogLevel } from "./records.ts";
import type { LogsAt } from "./template-store.ts";

/** One thing that happened to a sandbox, as its owner may read it. */
export interface SandboxLogLine {
  readonly sandboxId: SandboxId;
  /** Wall time in milliseconds. */
  readonly at: number;
  /** Orders what happened in one millisecond. */
  readonly place: number;
  readonly level: BuildLogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface SandboxLogQuery extends LogsAt {
  /** Only lines whose message holds this text, whatever its case. */
  readonly search?: string;
}

/** What happened to sandboxes. */
export interface SandboxLogStore {
  /** Adds lines, and of each sandbox among them keeps the newest `keep`. A line that is there already is left as it is. */
  add(lines: readonly SandboxLogLine[], keep: number): Promise<void>;
  /** Lines from a time on, or up to it, newest first. */
  read(id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]>;
}
