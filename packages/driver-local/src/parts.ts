import type { Clock, SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { EgressPolicy, TakenAttempts } from "@boxyard/driver";

/** Interfaces of the parts that the driver is wired from. Each part has a directory of its own and does not import the others. */

/** What a sandbox holds of the network during one incarnation. Plain data: it is kept in state.json, and `detach` needs nothing else. */
export interface NetworkLease {
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  /** IPv4 address of the sandbox, fresh for each incarnation. */
  readonly address: string;
  readonly gateway: string;
  readonly prefixLength: number;
  /** Name of the machine's end of the link. */
  readonly link: string;
}

export interface NetworkTraffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface SandboxNetworks {
  /** For the sandbox's resolv.conf. */
  readonly dnsAddress: string;
  /**
   * `egress`: the policy that the lease will be attached with, for a driver whose records lack what a policy holds of secrets (`withoutEdge`).
   *
   * A fresh lease: an address never in use and not just released. `resource_exhausted` when there is none.
   */
  allocate(sandboxId: SandboxId, incarnation: number, egress?: EgressPolicy): NetworkLease;
  /**
   * Registers the leases of sandboxes of an earlier process, so that their addresses are not allocated again. Their links and lists are as that process left
   * them; hosts that a sandbox may reach by name need its policy.
   */
  adopt(leases: readonly NetworkLease[], egressOf?: (lease: NetworkLease) => EgressPolicy | undefined): void;
  /** Between create and start: link, address, routes, rules, in the network namespace of process `netnsPid`. */
  attach(lease: NetworkLease, netnsPid: number, egress: EgressPolicy): Promise<void>;
  /** Changes what an attached lease may reach, at once, for open connections too. Repeatable. */
  change(lease: NetworkLease, egress: EgressPolicy): Promise<void>;
  /** Bytes that the link of a lease has brought its sandbox, and taken from it; both 0 when there is no link. */
  traffic(lease: NetworkLease): NetworkTraffic;
  /** What sandboxes have tried to reach since the last call. */
  takeAttempts(): TakenAttempts;
  /** Stops all traffic; link and address stay, for `reconnect`. For a sandbox that is paused while its processes stay in memory. */
  disconnect(lease: NetworkLease): void;
  /** The lease of a later incarnation, with the link and the address of a disconnected one; there is no traffic before `reconnect`. */
  renew(lease: NetworkLease, incarnation: number): NetworkLease;
  /** After `renew`: opens the link again. */
  reconnect(lease: NetworkLease, egress: EgressPolicy): Promise<void>;
  /** Removes everything that a lease has made and frees its address. Repeatable, needs the lease alone. */
  detach(lease: NetworkLease): Promise<void>;
  close(): Promise<void>;
  release(): Promise<void>;
}

export interface PoolRoom {
  readonly diskLimitBytes: number;
  readonly diskFreeBytes: number;
}

export interface GrowthWatch {
  /** How many bytes the volume of this name may hold; undefined when it is no sandbox's. */
  readonly limitOf: (name: string) => number | undefined;
  /** The same for a volume that users made. */
  readonly userVolumeLimitOf: (id: string) => number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface CloneSize {
  /** What the kept volume holds; counts against `limitBytes`. */
  readonly heldBytes: number;
  readonly limitBytes: number;
}

export interface ClonedDisk {
  readonly path: string;
  /** Of `heldBytes`, what the kernel does not charge to the new volume: simple quotas charge it to the one that it was written in. */
  readonly baseBytes: number;
}

export interface PoolStorage {
  /** The mounted pool. */
  readonly root: string;
  readonly layersRoot: string;
  /**
   * Path of a new, empty subvolume that can hold `limitBytes`, whose inode numbers are above those of `layers`. `already_exists` when there
   * is one of this id.
   */
  createDisk(id: string, limitBytes: number, layers?: readonly string[]): Promise<string>;
  /** Path of a volume that exists. */
  diskPath(id: string): string;
  /** Repeatable; succeeds when there is none. */
  destroyDisk(id: string): Promise<void>;
  usage(id: string): Promise<{ usedBytes: number }>;
  /** What the kernel charges to the subvolume at `path`. */
  usageOf(path: string): number;
  /** From now on sandboxes and layers in the making get limits that the pool can hold (see `GrowthGuard`). Ends with `close`. */
  watchGrowth(watch: GrowthWatch): void;
  /** Makes a subvolume that may hold `limitBytes` when there is room; `make` gets the limit that it is to have now. */
  withLimit<T>(limitBytes: number, make: (limitBytes: number) => T | Promise<T>): Promise<T>;
  /** Size of the pool, and what may still be written to it. */
  room(): PoolRoom;
  listDisks(): Promise<readonly string[]>;
  /** Directory of the generations of paused sandboxes, a directory for each sandbox. */
  readonly generationsRoot: string;
  /** Directory of the snapshots that sandboxes start from, a directory for each. */
  readonly snapshotsRoot: string;
  /** Directory of the volumes that users make, a directory for each with its subvolume `disk`. */
  readonly userVolumesRoot: string;
  /** Makes the empty subvolume `parent/name`, which can hold `limitBytes`. */
  createTree(parent: string, name: string, limitBytes: number): Promise<void>;
  /** Makes `parent/name` a writable copy of a subvolume; returns the bytes that the kernel does not charge to it (`ClonedDisk`). */
  cloneTree(source: string, parent: string, name: string, size: CloneSize): Promise<number>;
  /** Sets how much the subvolume at `path` can hold. */
  limitTree(path: string, limitBytes: number): Promise<void>;
  /** A new volume that begins with what a kept one holds. `already_exists` when there is one of this id. */
  cloneDisk(id: string, kept: string, size: CloneSize): Promise<ClonedDisk>;
  /** Makes the subvolume `parent/name`, read-only, with what the volume holds now. */
  keepDisk(id: string, parent: string, name: string): Promise<void>;
  /** Gives a volume the content of a kept one. Repeatable: a second call completes one that a crash cut off. */
  resetDisk(id: string, kept: string, limitBytes: number): Promise<void>;
  hasLayer(digest: string): boolean;
  layerPath(digest: string): string;
  close(): Promise<void>;
  release(): Promise<void>;
}
