import { archiveBytesOf, MAX_ARCHIVE_ENTRIES, MAX_VOLUME_DEPTH, type VolumeArchive } from "@boxyard/driver";
import { exportStream, runFill } from "../images/worker/spawn.ts";

/** Where the files of a volume are, and how many bytes they may take. */
interface Tree {
  readonly disk: string;
  readonly limitBytes: number;
}

const boundsOf = (limitBytes: number) => ({
  maxEntries: MAX_ARCHIVE_ENTRIES,
  maxDepth: MAX_VOLUME_DEPTH,
  maxBytes: archiveBytesOf(limitBytes),
});

/** The tar of a volume, made by a process of its own. */
export const exportVolume = ({ disk, limitBytes }: Tree, signal: AbortSignal): ReadableStream<Uint8Array> =>
  exportStream({ kind: "exportVolume", tree: disk, ...boundsOf(limitBytes) }, signal);

/** Unpacks an archive into a new volume, in a process of its own: a hostile tar takes neither the server's memory nor its time. */
export async function fillFromArchive({ disk, limitBytes }: Tree, { source, signal }: VolumeArchive): Promise<void> {
  await runFill({ kind: "importVolume", tree: disk, ...boundsOf(limitBytes) }, { source, signal });
}
