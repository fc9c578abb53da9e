import type { SandboxId } from "@boxyard/core";

/** `memory`: disk and memory. `disk`: the disk only. */
export type CheckpointAbility = "memory" | "disk" | "none";

/** What a pause keeps, or a resume brings back. */
export interface PauseOptions {
  /** True: processes with their memory, and the disk. False: the disk alone; the sandbox boots from it. */
  readonly memory: boolean;
}

/** What a paused sandbox goes on from: a disk and, with `memory`, an image of its processes, of one moment in which nothing ran. */
export interface Generation {
  readonly sandboxId: SandboxId;
  /** The incarnation that it was made of. */
  readonly incarnation: number;
  readonly memory: boolean;
  /** Bytes of memory that a resume with memory takes beside what the sandbox holds now; 0 without it. */
  readonly memoryBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}
