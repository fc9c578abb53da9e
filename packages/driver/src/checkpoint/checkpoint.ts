import type { SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { SandboxSpec } from "../runtime/types.ts";
import type { CheckpointAbility, Generation, PauseOptions } from "./generation.ts";

export interface CheckpointCapabilities {
  /** What a pause can keep: memory and disk, the disk alone, or nothing (`pause`). */
  readonly checkpoint: CheckpointAbility;
}

/**
 * The part of a driver that keeps a sandbox without its processes, and restores it.
 *
 * **Words.** A *generation* is the stored state from which a paused sandbox is resumed: its disk and, with `memory`, an image of its processes. It is
 * *whole* when it survives a crash of the machine.
 *
 * **Life.** running → `pause` → paused → `resume` → running, while the generation still exists → `dropGeneration`. `revert` leads from every phase
 * back to paused while there is a whole generation.
 *
 * **Guarantees.**
 * - A pause makes a whole generation or none. After `kill -9` of the driver's process, at any line, `generation` shows which: with a whole generation
 *   of this incarnation the sandbox is `paused`, and `revert` ends the processes that are left; without one it is `running`, and `thaw` lets it go on.
 *   During a resume the generation stays whole, and `revert` leads back to it.
 * - `list` includes paused sandboxes, and `destroy` removes the generation too.
 * - What is kept of a generation may be damaged from outside. Then every call for the paused sandbox throws `data_loss` (reason `bad_generation`) and
 *   changes nothing, but `list` includes it and `destroy` removes it. Other sandboxes and the start of a driver are not affected. After a repair it is
 *   resumed as before.
 *
 * **Example.**
 * ```ts
 * await driver.pause(handle, { memory: true }, signal);              // nothing runs, nothing holds memory
 * const next = { ...spec, incarnation: handle.incarnation + 1 };
 * const resumed = await driver.resume(next, { memory: true }, signal); // processes go on, at a new address
 * await driver.dropGeneration(resumed);                               // the resume succeeded: no revert is needed
 * ```
 */
export interface CheckpointDriver {
  readonly capabilities: CheckpointCapabilities;

  /**
   * Ends a running sandbox and keeps it as a generation: its disk and, with `memory`, its processes. Resolves when the generation is whole; no process
   * of the sandbox runs then. Processes may stay in memory, frozen, as a cache of the generation (see `reclaim`), until a resume, `close` or the end of
   * the driver's process. After a failure the sandbox runs on. Commands may be frozen before; the agent must not be. Throws `resource_exhausted` without
   * room for the generation. Needs the capability `checkpoint`: else `failed_precondition`, reason `no_memory_checkpoint`, where only the disk can be
   * kept, or `unimplemented`, reason `no_checkpoint`, where nothing can.
   */
  pause(handle: SandboxHandle, options: PauseOptions, signal: AbortSignal): Promise<Generation>;
  /** The whole generation of a sandbox, if there is one; also of one that has been resumed since, until `dropGeneration`. */
  generation(sandboxId: SandboxId): Promise<Generation | undefined>;
  /**
   * Starts a paused sandbox as a new incarnation, from its generation or, where the spec has `from`, from that snapshot (a rollback), with a new
   * network. Resolves when the agent answers. With `memory`, and if the generation has memory, its processes go on; commands stay frozen until the
   * agent's `/init`. Else the sandbox boots from its disk. After a failure the sandbox is paused as before. The generation stays until `dropGeneration`,
   * so that `revert` can lead back to it.
   */
  resume(spec: SandboxSpec, options: PauseOptions, signal: AbortSignal): Promise<SandboxHandle>;
  /**
   * Ends all processes of a sandbox and sets it back to its whole generation, disk included. Used after a failed resume, and after a server was killed
   * during a pause or a resume. Repeatable. Without a whole generation it throws `not_found`, reason `generation_not_found`, and changes nothing.
   */
  revert(sandboxId: SandboxId): Promise<Generation>;
  /** Removes the generation after a successful resume. Repeatable. Throws `failed_precondition` for a paused sandbox. */
  dropGeneration(handle: SandboxHandle): Promise<void>;
}
