import { existsSync, mkdirSync } from "node:fs";
import { AppError, type Cleanup, type SandboxId } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import type { SandboxSpec } from "@boxyard/driver";
import type { SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import { type LocalSandboxRecord, writeRecord } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import { VolumeFiles } from "../user-volumes/volume-files.ts";
import { type CreateContext, cgroupOf, type LocalParts } from "./parts.ts";
import { type Claims, removeSandbox } from "./teardown.ts";

/**
 * Claims id, network lease and user ids of a new sandbox: makes its directory, and in it the state file with all that a removal needs. Registers
 * the removal of the sandbox, which undoes this and every step after it. When this throws, the removal has run.
 */
export async function claimSandbox(parts: LocalParts, spec: SandboxSpec, undo: Cleanup, from?: SnapshotSource): Promise<CreateContext> {
  const { paths } = parts;
  const id = spec.sandboxId;
  refuseLeftovers(parts, id);
  try {
    mkdirSync(paths.sandbox(id), { mode: 0o700 });
  } catch (error) {
    if (hasErrno(error, "EEXIST")) throw alreadyExists(id);
    throw fromErrno(`create sandbox ${id}`, error);
  }
  const claims: { -readonly [K in keyof Claims]?: Claims[K] } = {};
  undo.add("sandbox", () => removeSandbox(parts, id, claims));
  try {
    const lease = parts.networks.allocate(id, spec.incarnation, spec.network);
    claims.lease = lease;
    const uidBase = parts.uidRanges.take();
    claims.uidBase = uidBase;
    const { incarnation, resources, network, labels, hostname, image, restrictions, volumes, agent } = spec;
    const record: LocalSandboxRecord = {
      version: 1,
      sandboxId: id,
      incarnation,
      uidBase,
      resources,
      network,
      labels,
      hostname,
      layers: image.layers,
      imageDigest: image.digest,
      ...(restrictions && { restrictions }),
      ...(volumes?.length && { volumes }),
      initKey: agent.initKey,
      lease,
    };
    await writeRecord(paths.state(id), record);
    // Checked after the record names the layers and volumes: from then on they are not removed.
    requireImage(parts, spec);
    requireVolumes(parts, spec);
    return { parts, spec, cgroup: cgroupOf(parts, id), record, volume: "", from };
  } catch (error) {
    await undo.run();
    throw error;
  }
}

function refuseLeftovers({ paths, cgroups, storage }: LocalParts, id: SandboxId): void {
  if ([paths.sandbox(id), storage.diskPath(id), ...cgroups.directoriesOf(id)].some((directory) => existsSync(directory)))
    throw alreadyExists(id);
}

function requireImage({ storage }: LocalParts, { image }: SandboxSpec): void {
  const missing = image.layers.find((layer) => !storage.hasLayer(layer));
  if (missing) {
    throw new AppError("not_found", `Layer ${missing} of the image is not on this machine`, {
      reason: "image_not_found",
      details: { digest: image.digest, layer: missing },
    });
  }
}

/** Throws `not_found` for a volume that does not exist, and `data_loss` for a damaged one. */
export function requireVolumes({ storage }: LocalParts, { volumes = [] }: Pick<SandboxSpec, "volumes">): void {
  const files = new VolumeFiles(storage.userVolumesRoot);
  for (const { volume } of volumes) files.get(volume);
}

function alreadyExists(id: SandboxId): AppError {
  return new AppError("already_exists", `Something of sandbox ${id} is left; destroy it first`, { reason: "sandbox_exists" });
}
