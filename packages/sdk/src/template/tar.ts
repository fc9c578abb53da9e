import { createReadStream, createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { tarEnd, tarEntry, tarPadding } from "@boxyard/spec/tar";
import { ConflictError } from "../errors.ts";
import type { ContextEntry } from "./copy-source.ts";

/** Writes a tar of these entries, gzipped, into a file. Times and owners are left out: equal content gives equal archives. */
export async function writeTarGz(entries: readonly ContextEntry[], file: string): Promise<void> {
  await pipeline(Readable.from(tarOf(entries)), createGzip(), createWriteStream(file, { mode: 0o600 }));
}

async function* tarOf(entries: readonly ContextEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield* headersOf(entry);
    if (entry.kind === "file") yield* contentOf(entry);
  }
  yield tarEnd();
}

async function* contentOf({ absolute, path, size }: ContextEntry): AsyncGenerator<Uint8Array> {
  let read = 0;
  if (size > 0) {
    for await (const chunk of createReadStream(absolute, { end: size - 1 })) {
      read += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  if (read !== size) throw new ConflictError(`${path} has changed while it was read`, { code: "aborted", reason: "file_changed" });
  yield tarPadding(size);
}

function headersOf({ kind: type, path, size, mode, target }: ContextEntry): Uint8Array[] {
  return tarEntry({ name: type === "directory" ? `${path}/` : path, size, mode: mode & 0o7777, type, target });
}
