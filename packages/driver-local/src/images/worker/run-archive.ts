import { AppError, isAppError } from "@boxyard/core/errors";
import { syncFileSystem, writeAll } from "../../sys/at.ts";
import { hasErrno } from "../../sys/errors.ts";
import { close, O, open, withDirectory } from "../../sys/libc.ts";
import { VolumePacker } from "../pack-volume.ts";
import { BadTar } from "../tar/header.ts";
import { TarReader } from "../tar/reader.ts";
import { TooManyEntries } from "../unpack-errors.ts";
import { VolumeUnpacker } from "../unpack-volume.ts";
import { uncompressed } from "./input.ts";
import type { Job, Send } from "./jobs.ts";

/* The work of a worker on archives of volumes. */

const STDOUT = 1;

/** Writes the tar of a volume to standard output. */
export function writeVolume(job: Extract<Job, { kind: "exportVolume" }>): void {
  withDirectory(job.tree, (root) => new VolumePacker(job, (bytes) => writeAll(STDOUT, bytes)).pack(root));
}

/** Unpacks the tar on standard input into a volume. It is on the disk when this ends. */
export async function fillVolume(job: Extract<Job, { kind: "importVolume" }>, send: Send): Promise<void> {
  const root = open(job.tree, O.RDONLY | O.DIRECTORY);
  const unpacker = new VolumeUnpacker(root, job);
  try {
    const reader = new TarReader(unpacker);
    let bytes = 0;
    for await (const piece of uncompressed(() => {})) {
      bytes += piece.length;
      if (bytes > job.maxBytes) throw tooLarge(`bytes, uncompressed, than ${job.maxBytes}`);
      reader.push(piece);
    }
    reader.end();
    unpacker.finish();
    syncFileSystem(root);
    send({ type: "filled", ...unpacker.leftOut });
  } catch (error) {
    throw translated(error, job.maxEntries);
  } finally {
    unpacker.close();
    close(root);
  }
}

const tooLarge = (what: string) =>
  new AppError("resource_exhausted", `The archive has more ${what}: import parts of it`, { reason: "archive_too_large" });

/** Other errors are translated as those of layers are, where `failureOf` finds a fault of the format too. */
function translated(error: unknown, maxEntries: number): unknown {
  if (isAppError(error)) return error;
  if (error instanceof TooManyEntries) return tooLarge(`entries than ${maxEntries}`);
  if (hasErrno(error, "EDQUOT", "ENOSPC")) {
    return new AppError("resource_exhausted", "What the archive holds does not fit: give the volume a larger size", {
      reason: "volume_full",
    });
  }
  const code = String((error as { code?: unknown } | undefined)?.code ?? "");
  if (error instanceof BadTar || /^(Z_|ZSTD_|ERR_ZSTD)/.test(code)) {
    return new AppError("invalid_argument", `Bad archive: ${(error as Error).message}`, { reason: "bad_archive" });
  }
  return error;
}
