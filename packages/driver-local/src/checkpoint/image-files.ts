import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

/* What we read and change in CRIU's images, which are protobuf messages (criu/images/*.proto). */

/** Bytes of memory that a restore reads. */
export function memoryBytesOf(images: string): number {
  const pages = readdirSync(images).filter((name) => /^pages-\d+\.img$/.test(name));
  return pages.reduce((sum, name) => sum + statSync(join(images, name)).size, 0);
}

/** The image of the user namespace; there is one for each sandbox. */
export function userNamespaceImage(images: string): string {
  const found = readdirSync(images).filter((name) => /^userns-\d+\.img$/.test(name));
  if (found.length !== 1) throw new AppError("data_loss", "The image of a sandbox has no user namespace", { reason: "bad_snapshot" });
  return found[0] as string;
}

/** Users and groups: each has one line of its own in the map. */
const MAPS = 2;

/** Writes a copy of the user namespace's image to `target`, with the range of ids at `to` in place of that at `from`. */
export function rebaseUserNamespace(image: string, from: number, to: number, target: string): void {
  const [old, fresh] = [varint(from), varint(to)];
  const parts = splitAt(readFileSync(image), old);
  if (parts.length !== MAPS + 1 || old.length !== fresh.length) {
    throw new AppError("data_loss", "The image of a sandbox maps other ids than its own", { reason: "bad_snapshot" });
  }
  writeFileSync(target, Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [fresh, part]))), { mode: 0o644 });
}

function splitAt(bytes: Buffer, separator: Buffer): Buffer[] {
  const at = bytes.indexOf(separator);
  return at < 0 ? [bytes] : [bytes.subarray(0, at), ...splitAt(bytes.subarray(at + separator.length), separator)];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  return Buffer.from([...bytes, left]);
}

/** Tag of `name` in `reg_file_entry`: field 6, a string. */
const NAME_TAG = 0x32;
const LONGEST_PATH = 4_096;
const REMAPPED = /link_remap\.\d+/g;

/** Paths inside that CRIU has given to files which were deleted while open. The disk of that moment has them. */
export function remappedPaths(images: string): string[] {
  const files = join(images, "files.img");
  if (!existsSync(join(images, "remap-fpath.img")) || !existsSync(files)) return [];
  const bytes = readFileSync(files);
  const paths = [...bytes.toString("latin1").matchAll(REMAPPED)].map((match) => stringThatEnds(bytes, match.index + match[0].length));
  return [...new Set(paths.filter((path) => path !== undefined))];
}

/** The protobuf string that ends there: its length, and the tag of its field, stand before it. */
function stringThatEnds(bytes: Buffer, end: number): string | undefined {
  for (let start = end - 1; start > Math.max(1, end - LONGEST_PATH); start--) {
    const length = varint(end - start);
    const head = bytes.subarray(start - length.length - 1, start);
    if (head[0] === NAME_TAG && head.subarray(1).equals(length)) return bytes.toString("latin1", start, end);
  }
  return undefined;
}
