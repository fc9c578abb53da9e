import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { AppError } from "@boxyard/core";
import { openForReading } from "../sys/open-file.ts";

/** Bytes of a file that are searched or copied at most. No list of certificates is longer. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/**
 * The list of an image has about 200 KiB. Read as a whole, it would make the heap of every idle agent several times as large for good, so it is read
 * and moved in pieces. Most calls only append to it.
 */
const PIECE_BYTES = 16 * 1024;
const BEGIN = "# boxyard: begin\n";
const END = "# boxyard: end\n";
const NEWLINE = 10;

/** Other paths at which images keep their certificates. */
const OTHER_BUNDLES = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"];

/**
 * Appends `pem` to the image's own certificates in the file at `path`, and removes what an earlier call appended. An empty or missing file first
 * gets a copy of the certificates that the image keeps elsewhere. Programs may have replaced the file by anything, so it is only written if it is
 * a regular file, and opening it never blocks. Throws `invalid_argument`.
 */
export function setCaBundle(path: string, pem: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY, 0o644);
    try {
      if (!fstatSync(fd).isFile()) throw new Error("not a regular file");
      const buffer = Buffer.allocUnsafe(PIECE_BYTES);
      if (fstatSync(fd).size === 0) copyOther(fd, buffer);
      removeBlock(fd, buffer);
      if (pem !== "") append(fd, pem);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new AppError("invalid_argument", `${path} can't be written`, { reason: "not_writable", cause: error });
  }
}

function append(fd: number, pem: string): void {
  const { size } = fstatSync(fd);
  const last = Buffer.from([NEWLINE]);
  if (size > 0) readSync(fd, last, 0, 1, size - 1);
  writeWhole(fd, Buffer.from(`${last[0] === NEWLINE ? "" : "\n"}${BEGIN}${pem.trimEnd()}\n${END}`), size);
}

function removeBlock(fd: number, buffer: Buffer): void {
  const begin = find(fd, buffer, BEGIN, 0);
  const end = begin < 0 ? -1 : find(fd, buffer, END, begin);
  if (end < 0) return;
  const behind = end + END.length;
  const moved = copy({ fd, from: behind }, { fd, to: begin }, buffer);
  ftruncateSync(fd, begin + moved);
}

/** Offset of the first `text` at or after `from`; -1 when there is none. */
function find(fd: number, buffer: Buffer, text: string, from: number): number {
  // Pieces overlap, so that a text across the end of one is whole in the next.
  const step = buffer.length - text.length + 1;
  for (let at = from; at < MAX_FILE_BYTES; at += step) {
    const count = readSync(fd, buffer, 0, buffer.length, at);
    const found = buffer.fill(0, count).indexOf(text);
    if (found >= 0) return at + found;
    if (count < buffer.length) return -1;
  }
  return -1;
}

function copyOther(fd: number, buffer: Buffer): void {
  for (const path of OTHER_BUNDLES) {
    let other: number;
    try {
      other = openForReading(path);
    } catch {
      continue;
    }
    try {
      if (!fstatSync(other).isFile()) continue;
      copy({ fd: other, from: 0 }, { fd, to: 0 }, buffer);
      return;
    } finally {
      closeSync(other);
    }
  }
}

/** Copies up to `MAX_FILE_BYTES`, also to a smaller offset of the same file. Returns the number of bytes. */
function copy(source: { fd: number; from: number }, target: { fd: number; to: number }, buffer: Buffer): number {
  let total = 0;
  while (total < MAX_FILE_BYTES) {
    const count = readSync(source.fd, buffer, 0, buffer.length, source.from + total);
    if (count === 0) break;
    writeWhole(target.fd, buffer.subarray(0, count), target.to + total);
    total += count;
  }
  return total;
}

function writeWhole(fd: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}
