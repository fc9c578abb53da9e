import { DriverOfParts, type Fingerprint } from "@boxyard/driver";
import { Remainders } from "./checkpoint/remainders.ts";
import { LocalCheckpoint } from "./driver/checkpoint.ts";
import { LocalNetwork } from "./driver/network.ts";
import { LocalRuntime } from "./driver/runtime.ts";
import { LocalSandboxes } from "./driver/sandboxes.ts";
import { LayerStore, LocalImages } from "./images/index.ts";
import { sandboxesOn } from "./recover.ts";
import type { LocalParts } from "./sandbox.ts";
import { LocalSnapshots } from "./snapshots/local-snapshots.ts";

/**
 * Sandboxes on this machine. Holds no record of them: each answer comes from the state file and the kernel, so any number of drivers
 * over one data directory, one after the other, see the same. `driver/` has the parts.
 */
export class LocalDriver extends DriverOfParts {
  private readonly captures: LocalSnapshots;

  constructor(parts: LocalParts, fingerprint: () => Promise<Fingerprint>) {
    const sandboxes = new LocalSandboxes(parts);
    const layers = new LayerStore(parts.paths.root, (maxBytes) => parts.storage.withLimit(maxBytes, (limit) => limit));
    const snapshots = new LocalSnapshots(parts, layers, sandboxes);
    const remainders = new Remainders(parts, sandboxes);
    super({
      runtime: new LocalRuntime({ parts, sandboxes, snapshots, remainders, fingerprint }),
      network: new LocalNetwork(parts, sandboxes),
      checkpoint: new LocalCheckpoint(parts, sandboxes, snapshots),
      images: new LocalImages(layers, {
        still: (handle, work) => sandboxes.whileStill(handle, work),
        standingOn: (digest) => sandboxesOn(parts.paths, digest),
        snapshotsOn: (digest) => snapshots.standingOn(digest),
      }),
      snapshots,
    });
    this.captures = snapshots;
  }

  /** Undoes captures that an earlier process was killed at. Call it once, before anything else. */
  recoverCaptures(): Promise<void> {
    return this.captures.recover();
  }
}
