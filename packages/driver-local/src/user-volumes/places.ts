import { openInside, RESOLVE } from "../sys/at.ts";
import { close, O, withDirectory } from "../sys/libc.ts";

/** A name in an open directory. */
export interface Place {
  readonly directory: number;
  /** A byte string (`sys/at.ts`). */
  readonly name: string;
}

/** Names in volumes are UTF-8 here; the calls of `sys/at.ts` take byte strings. */
export const byteName = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
export const textName = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");

/** The root itself is the driver's, so that no link is on the way to it. */
export const withRoot = <T>(disk: string, work: (root: number) => T): T => withDirectory(disk, work);

/** Opens a path in a volume. Links are followed as if the root of the volume were `/`; the last one not with `O.NOFOLLOW`. */
export const openPath = (root: number, parts: readonly string[], flags: number): number =>
  openInside(root, byteName(parts.join("/")), flags, RESOLVE.inRoot);

/** Runs `work` with the open file at a path. */
export function withPath<T>(root: number, parts: readonly string[], flags: number, work: (fd: number) => T): T {
  const fd = openPath(root, parts, flags);
  try {
    return work(fd);
  } finally {
    close(fd);
  }
}

/** Runs `work` with the open directory of the last name of a path. */
export function withParent<T>(root: number, parts: readonly string[], work: (place: Place) => T): T {
  const name = byteName(parts.at(-1) ?? ".");
  return withPath(root, parts.slice(0, -1), O.RDONLY | O.DIRECTORY, (directory) => work({ directory, name }));
}
