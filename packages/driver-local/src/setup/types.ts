import type { FileLock } from "@boxyard/core/file-lock";
import type { LocalDriverConfig } from "../config.ts";
import type { NetworkShares } from "../network/shares.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import type { RuntimeName } from "../runtime/dialect.ts";

/** Settings of set-up; made by `readSetupConfig`. */
export interface SetupConfig {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  /** Absolute path of the cache of built trees; several data directories may share it. */
  readonly cacheDir: string;
  /** Address range of the sandboxes; default: a free one is chosen. */
  readonly network?: string;
  /** Size of the pool; default: a share of the free disk. */
  readonly poolSizeBytes?: number;
  /** Runtime of the sandboxes; default: the first that works. Set-up always installs crun. */
  readonly runtime?: RuntimeName;
  /** Resources that sandboxes leave to the machine. */
  readonly reserve?: Reserve;
  /** How many files one process of a sandbox may have open; default: the driver's. */
  readonly maxOpenFiles?: number;
  /** Bytes per second that each sandbox may read from the disk, and the same for writing. */
  readonly diskBandwidth?: number;
  /** What each sandbox may take of the network; default: the driver's. */
  readonly networkShares?: NetworkShares;
  /** File with the name servers that answer sandboxes' questions (`nameserver` lines); default: the machine's. */
  readonly resolvConf?: string;
  /** Limits of paused sandboxes that stay in memory. */
  readonly wakeCache?: LocalDriverConfig["wakeCache"];
  /** Environment of the programs that set-up runs, for example with proxies. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StageReport {
  /** Reports the current action, for a terminal; may be called often. */
  progress(text: string): void;
  /** Reports what the stage did, in a few words; part of its line. */
  result(text: string): void;
}

/** Shows the user what set-up does. */
export interface Reporter {
  /** Several stages may be in progress at once. */
  begin(stage: Stage): StageReport;
  /** The stage has ended, with an error if it failed. */
  end(stage: Stage, error?: unknown): void;
  /** One more line, outside of any stage. */
  say(line: string): void;
}

/**
 * One stage of set-up. A stage can be run again, may be killed at any line (it builds under another name and renames the result), and does not
 * touch the results of later stages.
 */
export interface Stage {
  readonly name: string;
  /** What the stage makes, for the user. */
  readonly title: string;
  /** Hash of everything that the result depends on; when it changes, the stage runs again. */
  key(config: SetupConfig): string;
  /** Whether the result exists (for mounts and the like: still exists). Takes a millisecond or two, changes nothing. */
  isDone(config: SetupConfig): boolean | Promise<boolean>;
  /**
   * Makes the result. Throws an `AppError` that names what is missing and the fix. `lock` is the lock of set-up. A program that writes below the
   * data directory inherits it: when set-up is killed, the program goes on, and the next set-up must wait for its end.
   */
  run(config: SetupConfig, report: StageReport, lock?: FileLock): Promise<void>;
  /**
   * Makes in the cache what `run` will use. Runs beside the stages before this one, when the packages are there, in a set-up that has never done this
   * stage. It may be left out: `run` makes what is missing. `signal` is aborted when another stage fails.
   */
  prepare?(config: SetupConfig, report: StageReport, signal: AbortSignal): Promise<void>;
}
