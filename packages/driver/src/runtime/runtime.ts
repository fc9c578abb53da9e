import { AppError, type SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type {
  AgentAddress,
  Capacity,
  ExitStatus,
  Fingerprint,
  KeptSpec,
  Reclaim,
  ResourceLimits,
  ResourceStats,
  RuntimeStatus,
  SandboxSpec,
  Signal,
} from "./types.ts";

/**
 * Who keeps the labels of a running sandbox (`relabel`). `local`: this machine, in a moment. `remote`: another one, over a network, so a call takes long and
 * may fail for a while; a sandbox of the pool is handed out without waiting for it. `none`: they cannot be replaced.
 */
export type RelabelAbility = "none" | "local" | "remote";

export interface RuntimeCapabilities {
  /** All processes of a sandbox can be frozen and thawed (`freeze`, `thaw`). */
  readonly freeze: boolean;
  /** The limits of a running sandbox can be changed (`resize`). */
  readonly resize: boolean;
  /** `resize` can change the disk too; without it, such a call throws `unimplemented`, reason `disk_resize_unimplemented`. */
  readonly resizeDisk: boolean;
  readonly relabel: RelabelAbility;
  /** A sandbox's whole memory limit is set aside for it from its create on, used or not. */
  readonly setsMemoryAside: boolean;
}

/**
 * The part of a driver that makes, observes and ends sandboxes.
 *
 * **Words.** A *spec* describes the wanted sandbox; a *handle* identifies an existing one; a sandbox is *alive* while its PID 1 runs; its *incarnation*
 * counts its starts. A handle names one incarnation; a call with an older one fails with `not_found`.
 *
 * **Life.** `create` → `start` → (`freeze` ⇄ `thaw`) → `signal` → `wait` → `destroy`. `destroy` is legal from everywhere.
 *
 * **Guarantees.**
 * - `create` makes a sandbox without processes, or leaves nothing. It refuses an id of which anything is left with `already_exists`, and an unknown image,
 *   snapshot or volume with `not_found` (reason `image_not_found`, `snapshot_not_found`, `volume_not_found`).
 * - A mount of a volume (`SandboxSpec.volumes`) whose path leads in the image over a link, or over what is no directory, makes `create` fail with
 *   `failed_precondition`, reason `bad_mount_point`, `details.path`. A missing directory is made, of root with mode 0755.
 * - `start` resolves when the agent answers its health check; when it fails, or its signal aborts, the sandbox is gone as after `destroy`.
 * - `destroy` is repeatable and succeeds when nothing is left; when it resolves, no trace of the sandbox is on the machine.
 * - The driver's state of a sandbox may be damaged from outside. Then every call for it, with any incarnation, throws `data_loss` (reason
 *   `state_damaged`) and changes nothing, but: `list` includes it, `freeze` freezes its processes, `destroy` removes it, and `create` of its id is
 *   `already_exists`. Other sandboxes and the start of a driver are not affected. After a repair the sandbox works as before.
 * - `inspect` and `recover` return the actual state or throw `not_found`; they never guess. `recover` also registers a sandbox that an earlier process
 *   made with this driver object, so that `wait` and `address` work for it.
 * - `wait` resolves when the sandbox is no longer alive, with the reason; at once if it is not alive now.
 * - `list` returns every sandbox of which anything is left, unfinished ones too. A driver has no record that a server could not rebuild from it. After `kill -9` of the process that holds the driver, at any line, a new driver lists what is left and `destroy` removes it.
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

  /** Checks what this machine supports, and says how to fix what is missing. Starts and changes nothing. */
  fingerprint(): Promise<Fingerprint>;

  /**
   * Resources for all sandboxes together: no number is negative, and no free part is more than its whole. What a running sandbox uses is not free.
   * Cheap, because it is called before every create.
   */
  capacity(): Promise<Capacity>;

  /**
   * Releases caches of the driver (frozen processes of paused sandboxes, whose generations are complete without them), up to the wanted amount. Resolves
   * after the release: true when anything was released; `capacity` then has the new numbers. Sandboxes are resumed as without it, but more slowly.
   */
  reclaim(wanted: Reclaim): Promise<boolean>;

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle>;
  /** `isUnawaited`: nobody waits for this sandbox, so the driver may take longer where that costs the machine less. */
  start(handle: SandboxHandle, signal: AbortSignal, how?: { readonly isUnawaited?: boolean }): Promise<void>;
  recover(handle: SandboxHandle): Promise<RuntimeStatus>;

  inspect(handle: SandboxHandle): Promise<RuntimeStatus>;
  stats(handle: SandboxHandle): Promise<ResourceStats>;
  /**
   * `cpuUsageUsec` of each of these sandboxes that is alive; the others are left out. Cheap, because it is asked for all running sandboxes every few
   * seconds: `stats` is asked only for those whose number has changed.
   */
  cpuTimes(handles: readonly SandboxHandle[]): Promise<ReadonlyMap<SandboxId, number>>;
  address(handle: SandboxHandle): Promise<AgentAddress>;
  /** The spec that the driver keeps, for a server that has lost its store; also of a paused sandbox. */
  keptSpec(handle: SandboxHandle): Promise<KeptSpec>;

  /** `SIGKILL` ends the whole sandbox at once; `SIGTERM` asks its init. Throws `not_found` for a sandbox that is not alive. */
  signal(handle: SandboxHandle, signal: Signal): Promise<void>;
  wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus>;

  /** Freezes every process of the sandbox, the agent too. Repeatable. Needs the capability `freeze`. */
  freeze(handle: SandboxHandle): Promise<void>;
  /** Thaws every process, also commands that the agent froze for a pause. Repeatable. Needs the capability `freeze`. */
  thaw(handle: SandboxHandle): Promise<void>;

  /**
   * Changes the limits of a running sandbox at once; the files that show them inside follow. Repeatable. A pause, a fork and a snapshot keep them.
   * Throws `failed_precondition`, reason `memory_in_use` or `disk_in_use`, with `details.usedBytes`, when the sandbox uses more than the new limit: then
   * the limits are as before. After another error some may be the new ones. `not_found` for a sandbox that does not run, `invalid_argument` as
   * `create`. Needs the capability `resize`.
   */
  resize(handle: SandboxHandle, resources: ResourceLimits): Promise<void>;

  /**
   * Replaces the labels of a running sandbox, on the disk when this resolves: `inspect` and `keptSpec` have the new ones. Repeatable. Throws `not_found`
   * for a sandbox that does not run, `invalid_argument` as `create`. Needs the capability `relabel`.
   */
  relabel(handle: SandboxHandle, labels: SandboxSpec["labels"]): Promise<void>;

  destroy(handle: SandboxHandle): Promise<void>;
  list(): Promise<readonly SandboxHandle[]>;

  /** Releases everything that this object holds; sandboxes go on. */
  close(): Promise<void>;
  /**
   * Releases the driver's own resources on the machine (mounts, network, loop devices). Throws `failed_precondition`, reason
   * `sandboxes_left`, while `list` is not empty. Repeatable.
   */
  release(): Promise<void>;
}

/** The error of a `resize` below what the sandbox uses. */
export function inUse(what: "memory" | "disk", usedBytes: number, wantedBytes: number): AppError {
  const mib = (bytes: number) => Math.ceil(bytes / 2 ** 20);
  return new AppError("failed_precondition", `The sandbox uses ${mib(usedBytes)} MiB of ${what}, more than ${mib(wantedBytes)} MiB`, {
    reason: `${what}_in_use`,
    details: { usedBytes },
  });
}
