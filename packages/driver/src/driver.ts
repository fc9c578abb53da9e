import type { SandboxId } from "@boxyard/core";
import type { Generation, PauseOptions } from "./checkpoint.ts";
import type { ImageStore } from "./images.ts";
import type { SnapshotStore } from "./snapshots.ts";
import type {
  AgentAddress,
  Capacity,
  DriverCapabilities,
  ExitStatus,
  Fingerprint,
  KeptSpec,
  NetworkSpec,
  ResourceStats,
  RuntimeStatus,
  SandboxHandle,
  SandboxSpec,
  Signal,
} from "./types.ts";

/**
 * How sandboxes exist somewhere: on this machine (`driver-local`), as pods (`driver-kubernetes`), or not at all (`fake`).
 *
 * **Words.** A *spec* is what we want; a *handle* is how to find it again; a sandbox is *alive* while its PID 1 runs; its *incarnation*
 * counts its starts. A handle names one incarnation; a call with an older one fails with `not_found`.
 *
 * **Life.** `create` → `start` → (`freeze` ⇄ `thaw`, `pause` ⇄ `resume`) → `signal` → `wait` → `destroy`. `destroy` is legal from everywhere.
 *
 * **Guarantees.**
 * - `create` leaves a sandbox of which nothing runs yet, or nothing at all. It refuses leftovers of the same id with `already_exists`,
 *   and an image or a snapshot it does not have with `not_found` (reason `image_not_found`, `snapshot_not_found`).
 * - `start` resolves when the agent answers its health check; when it fails, or its signal aborts, the sandbox is gone as after `destroy`.
 * - `destroy` is repeatable and succeeds when nothing is left; when it resolves, no trace of the sandbox is on the machine.
 * - `inspect` and `recover` either tell the truth or throw `not_found`; they never guess. `recover` also makes this driver object know a
 *   sandbox that an earlier process made, so that `wait` and `address` work for it.
 * - `wait` resolves when the sandbox is no longer alive, with the reason; at once if it is not alive now.
 * - `list` names every sandbox of which anything is left, half-made ones too. A driver holds no record that a server could not rebuild
 *   from it. After `kill -9` of the process that holds the driver, at any line, a new driver lists what is left and `destroy` removes it.
 * - A pause is whole or not at all: after `kill -9` of the process that holds the driver, at any line of it, `generation` tells. Where there is
 *   a whole one of this incarnation, the sandbox is `paused` and `revert` frees what is left of its processes; else it is `running`, and
 *   `thaw` lets it go on. During a resume `generation` stays whole, and `revert` leads back to it.
 * - Sandboxes outlive the driver object: `close` lets go of them without ending them.
 *
 * **Abilities.** `freeze`, `checkpoint`, `network`, `loopback`, `images` and `snapshots` are declared in `capabilities`; absent ones throw `unimplemented`.
 *
 * **Example.**
 * ```ts
 * const handle = await driver.create(spec, signal);   // exists, nothing runs
 * await driver.start(handle, signal);                 // the agent answers
 * const { host, agentPort } = await driver.address(handle);
 * await fetch(`http://${host}:${agentPort}/health`);  // 204
 * const ended = driver.wait(handle, signal);
 * await driver.signal(handle, "SIGKILL");
 * console.log((await ended).reason);                  // "killed"
 * await driver.destroy(handle);                       // nothing is left
 * await driver.destroy(handle);                       // still fine
 * ```
 */
export interface SandboxDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  /** The layers that sandboxes are made from. Needs the ability `images`. */
  readonly images: ImageStore;
  /** Copies of running sandboxes that others start from. Needs the ability `snapshots`. */
  readonly snapshots: SnapshotStore;

  /** What this machine can do, and how to mend what it can't. Starts nothing, changes nothing. */
  fingerprint(): Promise<Fingerprint>;

  /** What there is for all sandboxes together. Cheap: asked for before every create. */
  capacity(): Promise<Capacity>;

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle>;
  start(handle: SandboxHandle, signal: AbortSignal): Promise<void>;
  recover(handle: SandboxHandle): Promise<RuntimeStatus>;

  inspect(handle: SandboxHandle): Promise<RuntimeStatus>;
  stats(handle: SandboxHandle): Promise<ResourceStats>;
  address(handle: SandboxHandle): Promise<AgentAddress>;
  /** What it was made from, for a server that has lost its store; also of a paused one. */
  keptSpec(handle: SandboxHandle): Promise<KeptSpec>;

  /**
   * Connects to a TCP port on which something inside listens on a loopback address only, so that `address` does not lead there. Resolves
   * with a connected, non-blocking descriptor of this process, which is the caller's to close; with undefined when nothing listens. A sandbox
   * that is not running: `not_found`. Needs the ability `loopback`.
   */
  connectInside(handle: SandboxHandle, port: number, signal: AbortSignal): Promise<number | undefined>;

  /** `SIGKILL` ends the whole sandbox at once; `SIGTERM` asks its init. A sandbox that is not alive: `not_found`. */
  signal(handle: SandboxHandle, signal: Signal): Promise<void>;
  wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus>;

  /**
   * Replaces whom a sandbox may speak with, at once: what is no longer allowed is cut off in open connections too. Repeatable; a sandbox that
   * is not running: `not_found`. Needs the ability `network`.
   */
  setNetwork(handle: SandboxHandle, network: NetworkSpec): Promise<void>;

  /** Stops every process of the sandbox, the agent too; repeatable. */
  freeze(handle: SandboxHandle): Promise<void>;
  /** Lets them go on; also the commands that the agent was told to stop for a pause. Repeatable. */
  thaw(handle: SandboxHandle): Promise<void>;

  /**
   * Ends a running sandbox and keeps it, as a *generation*: its disk and, with `memory`, its processes. Resolves when the generation is whole
   * and a crash of the machine would not lose it; nothing of the sandbox runs or holds memory then. When it fails the sandbox runs on.
   * Commands may be frozen before; the agent must not be. Needs the ability `checkpoint`: `failed_precondition`, reason
   * `no_memory_checkpoint`, where only the disk can be kept.
   */
  pause(handle: SandboxHandle, options: PauseOptions, signal: AbortSignal): Promise<Generation>;
  /** The whole generation of a sandbox, if there is one; also of one that has been resumed since, until `dropGeneration`. */
  generation(sandboxId: SandboxId): Promise<Generation | undefined>;
  /**
   * Goes on with a paused sandbox as a new incarnation, from its generation or, where the spec has `from`, from that snapshot (a rollback), with a network of its own, and resolves when the agent answers. With `memory`, and if
   * the generation has it, processes go on; commands stay frozen until the agent's `/init`. Else the sandbox boots from its disk. When this
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

  destroy(handle: SandboxHandle): Promise<void>;
  list(): Promise<readonly SandboxHandle[]>;

  /** Lets go of everything this object holds, sandboxes untouched. */
  close(): Promise<void>;
  /**
   * Gives back what the driver itself holds on the machine (mounts, network, loop devices). Refuses with `failed_precondition`, reason
   * `sandboxes_left`, while `list` is not empty. Repeatable.
   */
  release(): Promise<void>;
}
