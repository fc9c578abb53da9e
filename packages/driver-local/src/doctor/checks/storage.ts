import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import {
  aheadIn,
  freeBytes,
  growthIn,
  isPoolMounted,
  isPoolReadOnly,
  MIN_POOL_BYTES,
  poolPaths,
  quotaMode,
} from "../../pool-storage/index.ts";
import { readDone } from "../../setup/stamp.ts";
import { filesystemId } from "../../sys/btrfs.ts";
import { type Check, fail, ok, warn } from "../types.ts";

const GIB = 1024 ** 3;
const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
const SETUP = "boxyard setup";

/** The path itself, or its nearest parent that exists. */
function existingParent(path: string): string {
  let at = path;
  while (!existsSync(at)) at = at.slice(0, at.lastIndexOf("/")) || "/";
  return at;
}

export const diskSpace: Check = {
  name: "disk",
  look({ dataDir }) {
    const free = freeBytes(existingParent(dataDir));
    const found = `${gib(free)} free for ${dataDir}`;
    if (free >= 2 * MIN_POOL_BYTES) return ok(found);
    // The pool is a sparse file: when the disk below it is full, sandboxes get I/O errors.
    const fix = "Make room, or put BOXYARD_DATA on a larger disk";
    return free >= GIB ? warn(found, fix) : fail(found, fix);
  },
};

export const setUp: Check = {
  name: "set-up",
  look({ dataDir, instance }) {
    if (!instance) return warn(`${dataDir} is not set up`, SETUP);
    const done = Object.keys(readDone({ dataDir, cacheDir: "", env: {} }));
    const templates = existsSync(`${dataDir}/templates`)
      ? readdirSync(`${dataDir}/templates`).filter((name) => name.endsWith(".json"))
      : [];
    if (templates.length === 0) return warn(`begun: ${done.join(", ")}`, SETUP);
    return ok(`instance ${instance.instance}, sandboxes in ${instance.network}`);
  },
};

export const pool: Check = {
  name: "pool",
  look({ dataDir, instance, reserve = {} }) {
    const { image, root } = poolPaths(dataDir);
    if (!existsSync(image) && isPoolMounted(dataDir)) {
      const found = `${image} was deleted while it is mounted: sandboxes go on, but its content is lost when it is unmounted or the machine restarts`;
      return warn(
        found,
        "When the sandboxes may end: 'boxyard down --sandboxes', then 'boxyard up -d' makes another pool; rebuild your templates",
      );
    }
    if (!existsSync(image)) return warn("there is no pool yet", SETUP);
    if (!isPoolMounted(dataDir)) return warn(`${image} is not mounted`, `${SETUP}, or start the server: both mount it`);
    if (instance?.poolId !== undefined && instance.poolId !== filesystemId(root)) {
      return fail(
        `${image} is another pool than the one that was set up: its templates are missing`,
        `Put the old one back, or run ${SETUP}`,
      );
    }
    if (isPoolReadOnly(dataDir)) {
      const fix = `Make room on the disk of ${image}, end the sandboxes that use it ('boxyard down --sandboxes'), and start the server`;
      return fail(`${root} takes no writes: the disk below it failed or was full`, fix);
    }
    const { bavail, blocks, bsize } = statfsSync(root);
    const taken = `${gib(statSync(image).blocks * 512)} taken on disk (${gib(aheadIn(dataDir))} of it allocated ahead)`;
    const found = `${gib(bavail * bsize)} of ${gib(blocks * bsize)} free, ${taken}`;
    const mode = quotaMode(root);
    if (mode === undefined) return fail(`${root} has no quotas`, `${SETUP} turns them on`);
    const { bytes, pauseBytes, what } = growthIn(dataDir, reserve);
    if (bytes < pauseBytes) {
      const fix = what === "host_disk_full" ? `Make room on the disk of ${image}` : "End sandboxes or remove templates";
      return warn(`${found}; sandboxes can write no more (${what})`, fix);
    }
    if (bavail * bsize < GIB) return warn(found, "End sandboxes or remove templates");
    return ok(`${found}, ${mode} quotas; sandboxes may write ${gib(bytes)} more`);
  },
};
