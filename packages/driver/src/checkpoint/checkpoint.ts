import type { SandboxId } from "@boxyard/core";
import type { SandboxHandle, SandboxSpec } from "../runtime/types.ts";
import type { CheckpointAbility, Generation, PauseOptions } from "./generation.ts";

export interface CheckpointCapabilities {
  /** What a pause can keep: memory and disk, the disk alone, or nothing (`pause`). */
  readonly checkpoint: CheckpointAbility;
}

/**
 * The part of a driver that keeps a sandbox while none of its processes exist, and brings it back.
 *
 * **Words.** A *generation* is what a paused sandbox goes on from: its disk and, with `memory`, an image of its processes. It is *whole* when
 * a crash of the machine would not lose it.
 *
 * **Life.** running → `pause` → paused → `resume` → running, with the generation still there → `dropGeneration`. `revert` leads from
 * everywhere back to paused while there is a whole generation.
 *
 * **Guarantees.**
 * - A pause is whole or not at all: after `kill -9` of the process that holds the driver, at any line of it, `generation` tells. Where there is
 *   a whole one of this incarnation, the sandbox is `paused` and `revert` frees what is left of its processes; else it is `running`, and
 *   `thaw` lets it go on. During a resume `generation` stays whole, and `revert` leads back to it.
 * - A paused sandbox is named by `list`, and `destroy` removes its generation too.
 *
 * **Example.**
 * ```ts
 * await driver.pause(handle, { memory: true }, signal);              // nothing runs, nothing holds memory
 * const next = { ...spec, incarnation: handle.incarnation + 1 };
 * const resumed = await driver.resume(next, { memory: true }, signal); // processes go on, at a new address
 * await driver.dropGeneration(resumed);                               // it was good: no way back is needed
 * ```
 */
export interface CheckpointDriver {
  readonly capabilities: CheckpointCapabilities;

  /**
   * Ends a running sandbox and keeps it, as a *generation*: its disk and, with `memory`, its processes. Resolves when the generation is whole
   * and a crash of the machine would not lose it; nothing of the sandbox runs then. Its processes may stay in memory, frozen, as a cache of the
   * generation (see `reclaim`), until a resume, `close` or the end of the process that holds the driver. When it fails the sandbox runs on.
   * Commands may be frozen before; the agent must not be. `resource_exhausted` where there is no room for it. Needs the capability `checkpoint`: `failed_precondition`, reason
   * `no_memory_checkpoint`, where only the disk can be kept; `unimplemented`, reason `no_checkpoint`, where nothing can.
   */
  pause(handle: SandboxHandle, options: PauseOptions, signal: AbortSignal): Promise<Generation>;
  /** The whole generation of a sandbox, if there is one; also of one that has been resumed since, until `dropGeneration`. */
  generation(sandboxId: SandboxId): Promise<Generation | undefined>;
  /**
   * Goes on with a paused sandbox as a new incarnation, from its generation or, where the spec has `from`, from that snapshot (a rollback), with
   * a network of its own, and resolves when the agent answers. With `memory`, and if the generation has it, processes go on; commands stay frozen until the agent's `/init`. Else the sandbox boots from its disk. When this
   * fails the sandbox is paused as before. The generation stays until `dropGeneration`, so that `revert` can lead back to it.
   */
  resume(spec: SandboxSpec, options: PauseOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /**
   * Ends whatever runs of a sandbox and makes it paused as its whole generation says, disk included. For a resume that turned out bad, and
   * for what a server that was killed during a pause or a resume has left. Repeatable. No whole generation: `not_found`, reason
   * `generation_not_found`, and nothing was changed.
   */
  revert(sandboxId: SandboxId): Promise<Generation>;
  /** After a resume that was good: removes the generation. Repeatable. A sandbox that is paused: `failed_precondition`. */
  dropGeneration(handle: SandboxHandle): Promise<void>;
}
