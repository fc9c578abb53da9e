import { DriverOfParts, type Fingerprint } from "@boxyard/driver";
import { LocalCheckpoint } from "./driver/checkpoint.ts";
import { FrozenOrphans } from "./driver/frozen-orphans.ts";
import { LocalVolumes } from "./driver/local-volumes.ts";
import { LocalNetwork } from "./driver/network.ts";
import { LocalRuntime } from "./driver/runtime.ts";
import { LayerStore, LocalImages } from "./images/index.ts";
import type { LocalParts } from "./sandbox/parts.ts";
import { sandboxesOn } from "./sandbox/recover.ts";
import { LocalSandboxes } from "./sandbox/sandboxes.ts";
import { LocalSnapshots } from "./snapshots/local-snapshots.ts";

/**
 * The driver of sandboxes on this machine. It keeps no record of them in memory: each answer comes from the state file and the kernel, so drivers
 * that are opened one after the other on one data directory see the same sandboxes. `driver/` has the parts.
 */
export class LocalDriver extends DriverOfParts {
  private readonly captures: LocalSnapshots;
  private readonly userVolumes: LocalVolumes;

  constructor(parts: LocalParts, fingerprint: () => Promise<Fingerprint>) {
    const sandboxes = new LocalSandboxes(parts);
    const layers = new LayerStore(parts.paths.root, (maxBytes) => parts.storage.withLimit(maxBytes, (limit) => limit));
    const snapshots = new LocalSnapshots(parts, layers, sandboxes);
    const volumes = new LocalVolumes(parts);
    const frozenOrphans = new FrozenOrphans(parts, sandboxes);
    super({
      runtime: new LocalRuntime({ parts, sandboxes, snapshots, frozenOrphans, fingerprint }),
      network: new LocalNetwork(parts, sandboxes),
      checkpoint: new LocalCheckpoint(parts, sandboxes, snapshots),
      images: new LocalImages(layers, {
        still: (handle, work) => sandboxes.whileStill(handle, work),
        usersOf: (digest) => sandboxesOn(parts.paths, digest),
        snapshotsOn: (digest) => snapshots.usersOf(digest),
      }),
      snapshots,
      volumes,
    });
    this.captures = snapshots;
    this.userVolumes = volumes;
  }

  /** Undoes captures, and changes of volumes, that an earlier process did not finish. Call it once, before any other method. */
  async undoUnfinished(): Promise<void> {
    await this.captures.recover();
    await this.userVolumes.sweep();
  }
}
