import type { ImageStore } from "./images.ts";
import type {
  AgentAddress,
  DriverCapabilities,
  ExitStatus,
  Fingerprint,
  NetworkSpec,
  ResourceStats,
  RuntimeStatus,
  SandboxHandle,
  SandboxSpec,
  Signal,
  SnapshotRef,
} from "./types.ts";

/**
 * How sandboxes exist somewhere: on this machine (`driver-local`), as pods (`driver-kubernetes`), or not at all (`fake`).
 *
 * **Words.** A *spec* is what we want; a *handle* is how to find it again; a sandbox is *alive* while its PID 1 runs; its *incarnation*
 * counts its starts. A handle names one incarnation; a call with an older one fails with `not_found`.
 *
 * **Life.** `create` → `start` → (`freeze` ⇄ `thaw`) → `signal` → `wait` → `destroy`. `destroy` is legal from everywhere.
 *
 * **Guarantees.**
 * - `create` leaves a sandbox of which nothing runs yet, or nothing at all. It refuses leftovers of the same id with `already_exists`,
 *   and an image it does not have with `not_found` (reason `image_not_found`).
 * - `start` resolves when the agent answers its health check; when it fails, or its signal aborts, the sandbox is gone as after `destroy`.
 * - `destroy` is repeatable and succeeds when nothing is left; when it resolves, no trace of the sandbox is on the machine.
 * - `inspect` and `recover` either tell the truth or throw `not_found`; they never guess. `recover` also makes this driver object know a
 *   sandbox that an earlier process made, so that `wait` and `address` work for it.
 * - `wait` resolves when the sandbox is no longer alive, with the reason; at once if it is not alive now.
 * - `list` names every sandbox of which anything is left, half-made ones too. A driver holds no record that a server could not rebuild
 *   from it. After `kill -9` of the process that holds the driver, at any line, a new driver lists what is left and `destroy` removes it.
 * - Sandboxes outlive the driver object: `close` lets go of them without ending them.
 *
 * **Abilities.** `freeze`, `checkpoint`, `network`, `loopback` and `images` are declared in `capabilities`; absent ones throw `unimplemented`.
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

  /** What this machine can do, and how to mend what it can't. Starts nothing, changes nothing. */
  fingerprint(): Promise<Fingerprint>;

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle>;
  start(handle: SandboxHandle, signal: AbortSignal): Promise<void>;
  recover(handle: SandboxHandle): Promise<RuntimeStatus>;

  inspect(handle: SandboxHandle): Promise<RuntimeStatus>;
  stats(handle: SandboxHandle): Promise<ResourceStats>;
  address(handle: SandboxHandle): Promise<AgentAddress>;

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
  thaw(handle: SandboxHandle): Promise<void>;

  checkpoint(handle: SandboxHandle, to: SnapshotRef, options: { leaveRunning: boolean }): Promise<void>;
  restore(spec: SandboxSpec, from: SnapshotRef, signal: AbortSignal): Promise<SandboxHandle>;

  /**
   * True if a pause has kept memory and disk of this incarnation whole, false if it has not, or not yet. Never guesses: throws when the driver
   * cannot say. Needs the ability `checkpoint`.
   */
  hasGeneration(handle: SandboxHandle): Promise<boolean>;
  /**
   * Ends what runs of this incarnation (processes, network, cgroups) and keeps what the last pause has kept, from which another resume can start:
   * the end of a pause, and the undo of a resume. Repeatable; also when nothing runs, and for an incarnation that was never started. The handle
   * of the kept generation is valid afterwards. Needs the ability `checkpoint`.
   */
  endIncarnation(handle: SandboxHandle): Promise<void>;

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
