import { basename } from "node:path";
import { AppError, type Step } from "@boxyard/core";
import { CONTROLLERS, hybridControllersFile } from "../cgroup/hierarchies.ts";
import { upperOf, workOf } from "../rootfs/upper.ts";
import type { ShownVolume } from "../rootfs/volume-mounts.ts";
import { identify } from "../runtime/process.ts";
import { directoriesOnPath, sharedParts } from "../sandbox/mount-points.ts";
import type { CreateContext } from "../sandbox/parts.ts";
import { rewriteRecord } from "../state/record.ts";
import { VolumeFiles } from "../user-volumes/volume-files.ts";

/** The runtime makes the sandbox; its init waits for the start. The state file names this process, so that a later server finds it. */
export const create: Step<CreateContext> = {
  name: "create",
  async run(ctx) {
    const { parts, spec, cgroup, record } = ctx;
    const pid = await parts.runtime.create({
      id: spec.sandboxId,
      bundle: parts.paths.bundle(spec.sandboxId),
      cgroups: cgroup.directories,
      ...(ctx.child && { child: ctx.child }),
      input: `${JSON.stringify({ initKey: spec.agent.initKey })}\n`,
      mounts: {
        layersRoot: parts.storage.layersRoot,
        // The spec names the lowest layer first, overlay the topmost.
        layers: spec.image.layers.map((digest) => basename(parts.storage.layerPath(digest))).reverse(),
        layersMount: parts.paths.layersMount,
        uidBase: record.uidBase,
        diskUidBase: record.diskUidBase,
        upper: upperOf(ctx.volume),
        work: workOf(ctx.volume),
        guest: parts.guestDirectory,
        binds: binds(ctx),
        volumes: shownVolumes(ctx),
      },
      controllersFile: hybridControllersFile(parts.cgroups.hierarchies),
    });
    const process = identify(pid);
    if (!process) throw new AppError("internal", "The sandbox's init ended before it was started", { reason: "init_ended" });
    ctx.record = { ...record, process };
    await rewriteRecord(parts.paths.state(spec.sandboxId), ctx.record);
  },
};

function shownVolumes({ parts, spec, volume }: CreateContext): ShownVolume[] {
  const { storage } = parts;
  if (!spec.volumes?.length) return [];
  const files = new VolumeFiles(storage.userVolumesRoot);
  const trees = [upperOf(volume), ...spec.image.layers.map((digest) => storage.layerPath(digest)).reverse()];
  return spec.volumes.map(({ volume: id, path, readOnly }, i, all) => ({
    ...{ disk: files.diskOf(id), path, readOnly },
    // The mounts before it make the directories of their paths.
    existing: Math.max(directoriesOnPath(trees, path), ...all.slice(0, i).map((other) => sharedParts(other.path, path))),
  }));
}

/** The sandbox's own facts below the guest directory: its limits, and on hybrid machines its v1 counters. */
function binds({ parts, spec, cgroup }: CreateContext) {
  const counters = CONTROLLERS.flatMap((name) => {
    const source = cgroup.v1Directory(name);
    return source ? [{ source, target: `cgroup/${name}` }] : [];
  });
  return [{ source: parts.paths.hostFacts(spec.sandboxId), target: "host" }, ...counters];
}
