import { AppError } from "@boxyard/core";

/** Where the pool lies in a data directory. */
export function poolPaths(dataDir: string) {
  return {
    image: `${dataDir}/pool.img`,
    /** Held while the pool is made, mounted or released. */
    lock: `${dataDir}/pool.lock`,
    /** Held while layers get or lose their names. */
    layersLock: `${dataDir}/layers.lock`,
    root: `${dataDir}/pool`,
    /** Unpacked layers by the hex digits of their digests. */
    layers: `${dataDir}/pool/layers`,
    /** What is known of each layer beside its tree. */
    facts: `${dataDir}/pool/layer-facts`,
    /** Layers in the making, and the rest of those that are being removed. */
    making: `${dataDir}/pool/making`,
    /** What paused sandboxes go on from: images of memory, and snapshots of their volumes. */
    generations: `${dataDir}/pool/generations`,
    /** What other sandboxes start from: the same two of sandboxes that ran on. */
    snapshots: `${dataDir}/pool/snapshots`,
    /** Subvolumes that others begin as, for their inode numbers' sake. */
    inodeSeeds: `${dataDir}/pool/inode-seeds`,
    /** Snapshots of them that wait to become sandboxes' volumes. */
    readyVolumes: `${dataDir}/pool/ready-volumes`,
  } as const;
}

const VOLUME_ID = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/;
const DIGEST = /^sha256:([0-9a-f]{64})$/;

/** A volume's name as one path component; anything else is `invalid_argument`. */
export function volumeName(id: string): string {
  if (!VOLUME_ID.test(id)) throw new AppError("invalid_argument", `'${id}' cannot name a volume`, { reason: "invalid_volume_id" });
  return id;
}

/** The 64 hex digits of `sha256:<64 hex>`; anything else is `invalid_argument`. */
export function digestHex(digest: string): string {
  const hex = DIGEST.exec(digest)?.[1];
  if (hex === undefined) throw new AppError("invalid_argument", `'${digest}' is no digest`, { reason: "invalid_digest" });
  return hex;
}
