import type {
  AgentAddress,
  Capacity,
  ExitStatus,
  Fingerprint,
  KeptSpec,
  Reclaim,
  ResourceStats,
  RuntimeStatus,
  SandboxHandle,
  SandboxSpec,
  Signal,
} from "./types.ts";

export interface RuntimeCapabilities {
  /** Every process of a sandbox can be stopped and let go on (`freeze`, `thaw`). */
  readonly freeze: boolean;
}

/**
 * The part of a driver that makes, watches and ends sandboxes.
 *
 * **Words.** A *spec* is what we want; a *handle* is how to find it again; a sandbox is *alive* while its PID 1 runs; its *incarnation*
 * counts its starts. A handle names one incarnation; a call with an older one fails with `not_found`.
 *
 * **Life.** `create` → `start` → (`freeze` ⇄ `thaw`) → `signal` → `wait` → `destroy`. `destroy` is legal from everywhere.
 *
 * **Guarantees.**
 * - `create` leaves a sandbox of which nothing runs yet, or nothing at all. It refuses leftovers of the same id with `already_exists`,
 *   and an image or a snapshot it does not have with `not_found` (reason `image_not_found`, `snapshot_not_found`).
 * - `start` resolves when the agent answers its health check; when it fails, or its signal aborts, the sandbox is gone as after `destroy`.
 * - `destroy` is repeatable and succeeds when nothing is left; when it resolves, no trace of the sandbox is on the machine.
 * - What a driver keeps of a sandbox may be damaged from outside. Then `inspect` and `recover` throw `data_loss` (reason `state_damaged`) for any
 *   incarnation; `list` names it, `freeze` stops what runs of it, and `destroy` removes it. Put right again, it is as before.
 * - `inspect` and `recover` either tell the truth or throw `not_found`; they never guess. `recover` also makes this driver object know a
 *   sandbox that an earlier process made, so that `wait` and `address` work for it.
 * - `wait` resolves when the sandbox is no longer alive, with the reason; at once if it is not alive now.
 * - `list` names every sandbox of which anything is left, unfinished ones too. A driver holds no record that a server could not rebuild
 *   from it. After `kill -9` of the process that holds the driver, at any line, a new driver lists what is left and `destroy` removes it.
 * - Sandboxes outlive the driver object: `close` forgets them without ending them.
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
export interface RuntimeDriver {
  readonly name: string;
  readonly capabilities: RuntimeCapabilities;

  /** What this machine can do, and how to mend what it can't. Starts nothing, changes nothing. */
  fingerprint(): Promise<Fingerprint>;

  /** What there is for all sandboxes together. Cheap: asked for before every create. */
  capacity(): Promise<Capacity>;

  /**
   * Gives back what the driver holds only to be quicker later (processes of paused sandboxes, which their generations can do without), as much
   * as is wanted if there is as much. True when something was given back, which it is when this resolves; then `capacity` tells the rest.
   */
  reclaim(wanted: Reclaim): Promise<boolean>;

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle>;
  start(handle: SandboxHandle, signal: AbortSignal): Promise<void>;
  recover(handle: SandboxHandle): Promise<RuntimeStatus>;

  inspect(handle: SandboxHandle): Promise<RuntimeStatus>;
  stats(handle: SandboxHandle): Promise<ResourceStats>;
  address(handle: SandboxHandle): Promise<AgentAddress>;
  /** What it was made from, for a server that has lost its store; also of a paused one. */
  keptSpec(handle: SandboxHandle): Promise<KeptSpec>;

  /** `SIGKILL` ends the whole sandbox at once; `SIGTERM` asks its init. A sandbox that is not alive: `not_found`. */
  signal(handle: SandboxHandle, signal: Signal): Promise<void>;
  wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus>;

  /** Stops every process of the sandbox, the agent too; repeatable. Needs the capability `freeze`. */
  freeze(handle: SandboxHandle): Promise<void>;
  /** Lets them go on; also the commands that the agent was told to stop for a pause. Repeatable. Needs the capability `freeze`. */
  thaw(handle: SandboxHandle): Promise<void>;

  destroy(handle: SandboxHandle): Promise<void>;
  list(): Promise<readonly SandboxHandle[]>;

  /** Releases everything that this object holds; sandboxes go on. */
  close(): Promise<void>;
  /**
   * Gives back what the driver itself holds on the machine (mounts, network, loop devices). Refuses with `failed_precondition`, reason
   * `sandboxes_left`, while `list` is not empty. Repeatable.
   */
  release(): Promise<void>;
}
