import type { CheckpointDriver } from "../checkpoint/checkpoint.ts";
import type { DriverCapabilities, SandboxDriver } from "../driver.ts";
import { absentImages, type ImageStore } from "../images/images.ts";
import type { NetworkDriver } from "../network/network.ts";
import type { RuntimeDriver } from "../runtime/runtime.ts";
import { absentSnapshots, type SnapshotStore } from "../snapshots.ts";
import { FakeCheckpoint } from "./checkpoint.ts";
import { FakeImages } from "./images.ts";
import { FakeNetwork } from "./network.ts";
import { FakeRuntime } from "./runtime.ts";
import { FakeSandboxes } from "./sandboxes.ts";
import { FakeSnapshots } from "./snapshots.ts";
import { FakeWorld } from "./world.ts";

/** A driver made of the fakes of the parts, over one world. Faults are scripted through `world.faults`. */
export class FakeDriver implements SandboxDriver {
  readonly name = "fake";
  readonly capabilities: DriverCapabilities;
  readonly images: ImageStore;
  readonly snapshots: SnapshotStore;
  readonly world: FakeWorld;
  private readonly runtime: FakeRuntime;
  private readonly network: FakeNetwork;
  private readonly checkpoint: FakeCheckpoint;

  constructor(world: FakeWorld = new FakeWorld()) {
    const sandboxes = new FakeSandboxes(world);
    this.world = world;
    const images = new FakeImages(world, sandboxes);
    const snapshots = new FakeSnapshots(world, images, sandboxes);
    this.images = world.lacks.has("images") ? absentImages(this.name) : images;
    this.snapshots = world.lacks.has("snapshots") ? absentSnapshots(this.name) : snapshots;
    this.runtime = new FakeRuntime(world, sandboxes, snapshots);
    this.network = new FakeNetwork(world, sandboxes);
    this.checkpoint = new FakeCheckpoint(world, sandboxes, snapshots);
    const { runtime, network, checkpoint } = this;
    this.capabilities = {
      ...runtime.capabilities,
      ...network.capabilities,
      ...checkpoint.capabilities,
      images: !world.lacks.has("images"),
      snapshots: !world.lacks.has("snapshots"),
    };
  }

  fingerprint: RuntimeDriver["fingerprint"] = (...args) => this.runtime.fingerprint(...args);
  capacity: RuntimeDriver["capacity"] = (...args) => this.runtime.capacity(...args);
  reclaim: RuntimeDriver["reclaim"] = (...args) => this.runtime.reclaim(...args);
  create: RuntimeDriver["create"] = (...args) => this.runtime.create(...args);
  start: RuntimeDriver["start"] = (...args) => this.runtime.start(...args);
  recover: RuntimeDriver["recover"] = (...args) => this.runtime.recover(...args);
  inspect: RuntimeDriver["inspect"] = (...args) => this.runtime.inspect(...args);
  stats: RuntimeDriver["stats"] = (...args) => this.runtime.stats(...args);
  address: RuntimeDriver["address"] = (...args) => this.runtime.address(...args);
  keptSpec: RuntimeDriver["keptSpec"] = (...args) => this.runtime.keptSpec(...args);
  signal: RuntimeDriver["signal"] = (...args) => this.runtime.signal(...args);
  wait: RuntimeDriver["wait"] = (...args) => this.runtime.wait(...args);
  freeze: RuntimeDriver["freeze"] = (...args) => this.runtime.freeze(...args);
  thaw: RuntimeDriver["thaw"] = (...args) => this.runtime.thaw(...args);
  destroy: RuntimeDriver["destroy"] = (...args) => this.runtime.destroy(...args);
  list: RuntimeDriver["list"] = (...args) => this.runtime.list(...args);
  close: RuntimeDriver["close"] = (...args) => this.runtime.close(...args);
  release: RuntimeDriver["release"] = (...args) => this.runtime.release(...args);

  setNetwork: NetworkDriver["setNetwork"] = (...args) => this.network.setNetwork(...args);
  connectInside: NetworkDriver["connectInside"] = () => this.network.connectInside();

  pause: CheckpointDriver["pause"] = (...args) => this.checkpoint.pause(...args);
  generation: CheckpointDriver["generation"] = (...args) => this.checkpoint.generation(...args);
  resume: CheckpointDriver["resume"] = (...args) => this.checkpoint.resume(...args);
  revert: CheckpointDriver["revert"] = (...args) => this.checkpoint.revert(...args);
  dropGeneration: CheckpointDriver["dropGeneration"] = (...args) => this.checkpoint.dropGeneration(...args);
}
