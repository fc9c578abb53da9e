import { lazyLibcIfThere } from "@boxyard/core/libc";

/** System calls that Bun lacks. Undefined on a machine with another libc: callers then do without them. */
export const libc = lazyLibcIfThere("splice", "pipe2", "fcntl", "read", "setsockopt", "getsockopt");
