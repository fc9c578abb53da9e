import { DriverOfParts, type DriverParts } from "../driver-of-parts.ts";
import { FakeCheckpoint } from "./checkpoint.ts";
import { FakeImages } from "./images.ts";
import { FakeNetwork } from "./network.ts";
import { FakeRuntime } from "./runtime.ts";
import { FakeSandboxes } from "./sandboxes.ts";
import { FakeSnapshots } from "./snapshots.ts";
import { FakeVolumes } from "./volumes.ts";
import { FakeWorld } from "./world.ts";

/** A driver made of the fakes of the parts, over one world. Faults are scripted through `world.faults`. */
export class FakeDriver extends DriverOfParts {
  readonly world: FakeWorld;

  constructor(world: FakeWorld = new FakeWorld()) {
    super(partsOf(world));
    this.world = world;
  }
}

function partsOf(world: FakeWorld): DriverParts {
  const sandboxes = new FakeSandboxes(world);
  const images = new FakeImages(world, sandboxes);
  const snapshots = new FakeSnapshots(world, images, sandboxes);
  const volumes = new FakeVolumes(world);
  return {
    runtime: new FakeRuntime(world, sandboxes, snapshots, volumes),
    network: new FakeNetwork(world, sandboxes),
    checkpoint: new FakeCheckpoint(world, sandboxes, snapshots, volumes),
    ...(!world.lacks.has("images") && { images }),
    ...(!world.lacks.has("snapshots") && { snapshots }),
    ...(!world.lacks.has("volumes") && { volumes }),
  };
}
