import { createReadStream, createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { ConflictError } from "../errors.ts";
import type { ContextEntry } from "./copy-source.ts";

const BLOCK = 512;
const TYPES = { file: "0", symlink: "2", directory: "5" } as const;
const PAX_HEADER = "x";
/** Largest size that the twelve octal digits of a header hold. */
const MAX_OCTAL_SIZE = 8 ** 11 - 1;
const EPOCH = 0;

/** Writes a tar of these entries, gzipped, into a file. Times and owners are left out: equal content gives equal archives. */
export async function writeTarGz(entries: readonly ContextEntry[], file: string): Promise<void> {
  await pipeline(Readable.from(tarOf(entries)), createGzip(), createWriteStream(file, { mode: 0o600 }));
}

async function* tarOf(entries: readonly ContextEntry[]): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    yield* headersOf(entry);
    if (entry.kind === "file") yield* contentOf(entry);
  }
  yield Buffer.alloc(2 * BLOCK);
}

async function* contentOf({ absolute, path, size }: ContextEntry): AsyncGenerator<Buffer> {
  let read = 0;
  if (size > 0) {
    for await (const chunk of createReadStream(absolute, { end: size - 1 })) {
      read += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  if (read !== size) throw new ConflictError(`${path} has changed while it was read`, { code: "aborted", reason: "file_changed" });
  yield padding(size);
}

/** The header of an entry, after one of extended records where the fields are too small (POSIX pax). */
function headersOf(entry: ContextEntry): Buffer[] {
  const name = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const records: [string, string][] = [];
  if (!fits(name)) records.push(["path", name]);
  if (!fits(entry.target)) records.push(["linkpath", entry.target]);
  if (entry.size > MAX_OCTAL_SIZE) records.push(["size", String(entry.size)]);
  const own = header(name, entry.mode & 0o7777, Math.min(entry.size, MAX_OCTAL_SIZE), TYPES[entry.kind], entry.target);
  if (records.length === 0) return [own];
  const body = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  return [header("pax", 0o644, body.length, PAX_HEADER, ""), body, padding(body.length), own];
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

function header(name: string, mode: number, size: number, type: string, target: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) => block.write(`${value.toString(8).padStart(digits, "0")}\0`, at);
  block.write(name.slice(0, 100), 0, 100);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(EPOCH, 136, 11);
  block.write("        ", 148);
  block.write(type, 156);
  block.write(target.slice(0, 100), 157, 100);
  block.write("ustar\0" + "00", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

const padding = (size: number) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
