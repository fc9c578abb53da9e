export { freeBytes, MIN_POOL_BYTES, makePoolImage, poolSize } from "./image.ts";
export { makeUsualSeeds } from "./inode-seeds.ts";
export { isPoolMounted, isPoolReadOnly, mountPool, quotaMode, unmountPool } from "./mount.ts";
export { poolPaths } from "./paths.ts";
export { openPool } from "./pool.ts";
export { renewPoolId } from "./pool-id.ts";
export { aheadIn, growthIn } from "./room.ts";
