import type { CheckpointDriver } from "./checkpoint/checkpoint.ts";
import type { DriverCapabilities, SandboxDriver } from "./driver.ts";
import { absentImages, type ImageStore } from "./images/images.ts";
import type { NetworkDriver } from "./network/network.ts";
import type { RuntimeDriver } from "./runtime/runtime.ts";
import { absentSnapshots, type SnapshotStore } from "./storage/snapshots.ts";
import { absentVolumes, type VolumeStore } from "./storage/volumes.ts";

/** The parts of a driver. Each implements its own contract; several may share state of the driver. */
export interface DriverParts {
  readonly runtime: RuntimeDriver;
  readonly network: NetworkDriver;
  readonly checkpoint: CheckpointDriver;
  /** Absent: the driver lacks the capability `images`, and every call of it is `unimplemented`. */
  readonly images?: ImageStore | undefined;
  /** Absent: the driver lacks the capability `snapshots`. */
  readonly snapshots?: SnapshotStore | undefined;
  /** Absent: the driver lacks the capability `volumes`. */
  readonly volumes?: VolumeStore | undefined;
}

/** A driver that forwards each call to the part which implements it. A driver extends this class and makes its parts. */
export class DriverOfParts implements SandboxDriver {
  readonly name: string;
  readonly capabilities: DriverCapabilities;
  readonly images: ImageStore;
  readonly snapshots: SnapshotStore;
  readonly volumes: VolumeStore;
  private readonly parts: DriverParts;

  constructor(parts: DriverParts) {
    const { runtime, network, checkpoint, images, snapshots, volumes } = parts;
    this.parts = parts;
    this.name = runtime.name;
    this.images = images ?? absentImages(this.name);
    this.snapshots = snapshots ?? absentSnapshots(this.name);
    this.volumes = volumes ?? absentVolumes(this.name);
    this.capabilities = {
      ...runtime.capabilities,
      ...network.capabilities,
      ...checkpoint.capabilities,
      ...this.images.capabilities,
      images: images !== undefined,
      snapshots: snapshots !== undefined,
      volumes: volumes !== undefined,
    };
  }

  fingerprint: RuntimeDriver["fingerprint"] = (...args) => this.parts.runtime.fingerprint(...args);
  capacity: RuntimeDriver["capacity"] = (...args) => this.parts.runtime.capacity(...args);
  reclaim: RuntimeDriver["reclaim"] = (...args) => this.parts.runtime.reclaim(...args);
  create: RuntimeDriver["create"] = (...args) => this.parts.runtime.create(...args);
  start: RuntimeDriver["start"] = (...args) => this.parts.runtime.start(...args);
  recover: RuntimeDriver["recover"] = (...args) => this.parts.runtime.recover(...args);
  inspect: RuntimeDriver["inspect"] = (...args) => this.parts.runtime.inspect(...args);
  stats: RuntimeDriver["stats"] = (...args) => this.parts.runtime.stats(...args);
  cpuTimes: RuntimeDriver["cpuTimes"] = (...args) => this.parts.runtime.cpuTimes(...args);
  address: RuntimeDriver["address"] = (...args) => this.parts.runtime.address(...args);
  keptSpec: RuntimeDriver["keptSpec"] = (...args) => this.parts.runtime.keptSpec(...args);
  signal: RuntimeDriver["signal"] = (...args) => this.parts.runtime.signal(...args);
  wait: RuntimeDriver["wait"] = (...args) => this.parts.runtime.wait(...args);
  freeze: RuntimeDriver["freeze"] = (...args) => this.parts.runtime.freeze(...args);
  thaw: RuntimeDriver["thaw"] = (...args) => this.parts.runtime.thaw(...args);
  resize: RuntimeDriver["resize"] = (...args) => this.parts.runtime.resize(...args);
  relabel: RuntimeDriver["relabel"] = (...args) => this.parts.runtime.relabel(...args);
  destroy: RuntimeDriver["destroy"] = (...args) => this.parts.runtime.destroy(...args);
  list: RuntimeDriver["list"] = (...args) => this.parts.runtime.list(...args);
  close: RuntimeDriver["close"] = (...args) => this.parts.runtime.close(...args);
  release: RuntimeDriver["release"] = (...args) => this.parts.runtime.release(...args);

  setNetwork: NetworkDriver["setNetwork"] = (...args) => this.parts.network.setNetwork(...args);
  takeAttempts: NetworkDriver["takeAttempts"] = (...args) => this.parts.network.takeAttempts(...args);
  connectInside: NetworkDriver["connectInside"] = (...args) => this.parts.network.connectInside(...args);

  pause: CheckpointDriver["pause"] = (...args) => this.parts.checkpoint.pause(...args);
  generation: CheckpointDriver["generation"] = (...args) => this.parts.checkpoint.generation(...args);
  resume: CheckpointDriver["resume"] = (...args) => this.parts.checkpoint.resume(...args);
  revert: CheckpointDriver["revert"] = (...args) => this.parts.checkpoint.revert(...args);
  dropGeneration: CheckpointDriver["dropGeneration"] = (...args) => this.parts.checkpoint.dropGeneration(...args);
}
