import { closeSync, openSync, readSync } from "node:fs";

/** The first `most` bytes of a file, as text. */
export type ReadUpTo = (path: string, most: number) => string;

/** For files of the kernel, which have no size and some of which take long to be read to their end. */
export const readUpTo: ReadUpTo = (path, most) => {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(most);
    let used = 0;
    for (let count = -1; count !== 0 && used < most; used += count) count = readSync(fd, bytes, used, most - used, null);
    return bytes.toString("latin1", 0, used);
  } finally {
    closeSync(fd);
  }
};
