import { AppError } from "@boxyard/core";

/** Paths of the pool in a data directory. */
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
    /** Facts of each layer that its tree does not hold. */
    facts: `${dataDir}/pool/layer-facts`,
    /** Layers that are being made, and parts of layers that are being removed. */
    making: `${dataDir}/pool/making`,
    /** Of paused sandboxes: images of their memory, and snapshots of their volumes. Sandboxes resume from them. */
    generations: `${dataDir}/pool/generations`,
    /** Of sandboxes that ran on: images of memory and snapshots of volumes. Other sandboxes start from them. */
    snapshots: `${dataDir}/pool/snapshots`,
    /** Volumes that users make and mount in sandboxes: a directory each, with a subvolume. */
    userVolumes: `${dataDir}/pool/volumes`,
    /** Subvolumes of which others are snapshots, so that their inode numbers begin higher (`inode-seeds.ts`). */
    inodeSeeds: `${dataDir}/pool/inode-seeds`,
    /** Snapshots of inode seeds, ready to become volumes of sandboxes. */
    readyDisks: `${dataDir}/pool/ready-volumes`,
  } as const;
}

const VOLUME_ID = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/;
const DIGEST = /^sha256:([0-9a-f]{64})$/;

/** A volume's name as one path component; anything else is `invalid_argument`. */
export function diskName(id: string): string {
  if (!VOLUME_ID.test(id)) throw new AppError("invalid_argument", `'${id}' cannot name a volume`, { reason: "invalid_volume_id" });
  return id;
}

/** The 64 hex digits of `sha256:<64 hex>`; anything else is `invalid_argument`. */
export function digestHex(digest: string): string {
  const hex = DIGEST.exec(digest)?.[1];
  if (hex === undefined) throw new AppError("invalid_argument", `'${digest}' is no digest`, { reason: "invalid_digest" });
  return hex;
}
