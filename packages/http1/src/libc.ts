import { lazyLibcIfThere } from "@boxyard/core/libc";

/** The kernel's calls that Bun does not offer. Undefined where the machine's libc is another one: then everything goes the ordinary way. */
export const libc = lazyLibcIfThere("splice", "pipe2", "fcntl", "read", "setsockopt", "getsockopt");
