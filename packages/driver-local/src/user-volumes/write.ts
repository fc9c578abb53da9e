import { write as writeBytes } from "node:fs";
import { promisify } from "node:util";
import type { VolumeAttributes, VolumeEntry } from "@boxyard/driver";
import { linkFd, openAt, renameAt, statAt, TYPE, typeOf, unlinkAt } from "../sys/at.ts";
import { close, O } from "../sys/libc.ts";
import { setAttributes } from "./attributes.ts";
import { entryAt } from "./entries.ts";
import { type Place, withParent, withRoot } from "./places.ts";
import { isRoot, notAFile, pathExists } from "./refusals.ts";

const writeSome = promisify(writeBytes);

export interface WholeWrite extends VolumeAttributes {
  readonly force?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** Writes the whole stream to a file without a name, of which nothing is left after a failure, and names it then: no reader sees a part of it. */
export async function writeWhole(
  disk: string,
  parts: readonly string[],
  source: ReadableStream<Uint8Array>,
  { signal, force = false, ...attributes }: WholeWrite,
): Promise<VolumeEntry> {
  if (parts.length === 0) throw isRoot();
  const inParent = <T>(work: (place: Place) => T): T => withRoot(disk, (root) => withParent(root, parts, work));
  const fd = inParent((place) => {
    refuseOther(place, force);
    return openAt(place.directory, ".", O.RDWR | O.TMPFILE, 0o600);
  });
  try {
    await drain(source, fd, signal);
    setAttributes(fd, attributes);
    return inParent((place) => {
      refuseOther(place, force);
      nameFile(fd, place, force);
      return entryAt(place.directory, parts);
    });
  } finally {
    close(fd);
  }
}

/** A link can replace nothing, and a rename can: the file gets another name first. */
function nameFile(fd: number, { directory, name }: Place, force: boolean): void {
  if (!force) {
    linkFd(fd, directory, name);
    return;
  }
  const aside = `.boxyard-${crypto.randomUUID()}`;
  linkFd(fd, directory, aside);
  try {
    renameAt(directory, aside, directory, name);
  } catch (error) {
    unlinkAt(directory, aside);
    throw error;
  }
}

/** A file that is there is replaced with `force` alone, and nothing but a file or a link. */
function refuseOther({ directory, name }: Place, force: boolean): void {
  const found = statAt(directory, name);
  if (found && !force) throw pathExists(name);
  if (found && typeOf(found) === TYPE.directory) throw notAFile(name);
}

/** Writes what comes until the end of the stream; cancels it on a failure. */
async function drain(source: ReadableStream<Uint8Array>, fd: number, signal: AbortSignal): Promise<void> {
  const reader = source.getReader();
  const abort = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      for (let at = 0; at < value.length; ) at += (await writeSome(fd, value, at)).bytesWritten;
    }
  } catch (error) {
    await reader.cancel(error).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
    reader.releaseLock();
  }
}
