import { createReadStream, createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { MAX_OCTAL_SIZE, tarEnd, tarHeader, tarPadding } from "@boxyard/spec/tar";
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

/** The header of an entry, after one of extended records where the fields are too small (POSIX pax). */
function headersOf(entry: ContextEntry): Uint8Array[] {
  const name = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const records: [string, string][] = [];
  if (!fits(name)) records.push(["path", name]);
  if (!fits(entry.target)) records.push(["linkpath", entry.target]);
  if (entry.size > MAX_OCTAL_SIZE) records.push(["size", String(entry.size)]);
  const { kind: type, target } = entry;
  const own = tarHeader({ name, size: Math.min(entry.size, MAX_OCTAL_SIZE), mode: entry.mode & 0o7777, type, target });
  if (records.length === 0) return [own];
  const body = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  return [tarHeader({ name: "pax", size: body.length, type: "pax" }), body, tarPadding(body.length), own];
}

/** Names outside ASCII have no agreed meaning in the old fields. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character.
const fits = (text: string) => text.length <= 100 && /^[\x00-\x7f]*$/.test(text);

/** `LENGTH key=value\n`, where the length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return Buffer.from(`${length} ${key}=${value}\n`);
}
