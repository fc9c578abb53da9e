import type { SandboxId } from "@boxyard/core";

/** `memory`: disk and memory. `disk`: the disk only. */
export type CheckpointAbility = "memory" | "disk" | "none";

/** What a pause keeps, or a resume restores. */
export interface PauseOptions {
  /** True: processes with their memory, and the disk. False: the disk alone; the sandbox boots from it. */
  readonly memory: boolean;
}

/** The stored state of a paused sandbox: its disk and, with `memory`, an image of its processes, both of one moment in which no process ran. */
export interface Generation {
  readonly sandboxId: SandboxId;
  /** The incarnation that was paused. */
  readonly incarnation: number;
  readonly memory: boolean;
  /** Bytes of memory that a resume with memory needs, in addition to those that the sandbox holds now; 0 without memory. */
  readonly memoryBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}
