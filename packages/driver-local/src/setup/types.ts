import type { LocalDriverConfig } from "../config.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import type { RuntimeName } from "../runtime/dialect.ts";

/** What set-up needs to know; made by `readSetupConfig`. */
export interface SetupConfig {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  /** Absolute path of the directory of built trees; several data directories may share it. */
  readonly cacheDir: string;
  /** Address range asked for; a free one is chosen when left out. */
  readonly network?: string;
  /** Size of the pool; by free disk space when left out. */
  readonly poolSizeBytes?: number;
  /** The runtime asked for; the first that works when left out. Set-up installs crun whatever it is. */
  readonly runtime?: RuntimeName;
  /** What sandboxes leave to the machine. */
  readonly reserve?: Reserve;
  /** Files that one process of a sandbox may have open; the driver's default when left out. */
  readonly maxOpenFiles?: number;
  /** Bytes a second that each sandbox may read from the disk, and write. */
  readonly diskBandwidth?: number;
  /** Paused sandboxes that may stay in memory. */
  readonly wakeCache?: LocalDriverConfig["wakeCache"];
  /** Environment of the programs that set-up runs: proxies and the like come from here. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StageReport {
  /** What is being done right now, for a terminal; may come often. */
  progress(text: string): void;
  /** What the stage did, in a few words; stands in its line. */
  result(text: string): void;
}

/** How set-up tells people what it does. */
export interface Reporter {
  begin(stage: Stage): StageReport;
  end(stage: Stage, durationMs: number, error?: unknown): void;
  /** One more line, outside of any stage. */
  say(line: string): void;
}

/**
 * One stage of set-up. Every stage can be run again, may be killed at any line (it builds aside and renames into place) and leaves the
 * stages after it to themselves.
 */
export interface Stage {
  readonly name: string;
  /** For people: what it makes. */
  readonly title: string;
  /** Hash of everything the result depends on; a changed one makes the stage run again. */
  key(config: SetupConfig): string;
  /** Whether the result is there (and, for mounts and the like, still there). Takes a millisecond or two, changes nothing. */
  isDone(config: SetupConfig): boolean | Promise<boolean>;
  /** Throws an `AppError` that says what is missing and how to mend it. */
  run(config: SetupConfig, report: StageReport): Promise<void>;
}
