import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { varint } from "./image-messages.ts";

/* What the driver reads and changes in CRIU's images, which are protobuf messages (criu/images/*.proto). */

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

/** Maps in the image: one of users and one of groups, with one line each. */
const MAPS = 2;

/** Writes a copy of the user namespace's image to `target`, with the range of ids at `to` in place of that at `from`. */
export function rebaseUserNamespace(image: string, from: number, to: number, target: string): void {
  const [old, fresh] = [varint(BigInt(from)), varint(BigInt(to))];
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

/** Tag of `name` in `reg_file_entry`: field 6, a string. */
const NAME_TAG = 0x32;
const LONGEST_PATH = 4_096;
const REMAPPED = "link_remap.";

/** Paths, inside the sandbox, that CRIU has given to files which were deleted while open. The disk that was kept with the image has them. */
export function remappedPaths(images: string): string[] {
  const files = join(images, "files.img");
  return existsSync(join(images, "remap-fpath.img")) && existsSync(files) ? remappedNames(readFileSync(files)) : [];
}

/** As `remappedPaths`, from the bytes of `files.img`. */
export function remappedNames(bytes: Buffer): string[] {
  const names = new Set<string>();
  for (let at = bytes.indexOf(REMAPPED); at >= 0; at = bytes.indexOf(REMAPPED, at + 1)) {
    const name = nameAround(bytes, at);
    if (name !== undefined) names.add(name);
  }
  return [...names];
}

/** The protobuf string that ends with the bytes at `at`: found by its tag and length, which come before it. */
function nameAround(bytes: Buffer, at: number): string | undefined {
  for (let start = at; start > Math.max(1, at - LONGEST_PATH); start--) {
    for (const lengthBytes of [1, 2]) {
      const head = bytes.subarray(start - lengthBytes - 1, start);
      const end = start + lengthOf(head.subarray(1));
      const isName = head[0] === NAME_TAG && /^link_remap\.\d+$/.test(bytes.toString("latin1", at, end));
      if (isName) return bytes.toString("utf8", start, end);
    }
  }
  return undefined;
}

/** The value of a varint of one or two bytes: all but the last have the highest bit. 0 when the bytes are no varint. */
function lengthOf([low = 0, high]: Uint8Array): number {
  if (low < 128 !== (high === undefined)) return 0;
  return high === undefined ? low : (low & 127) | (high << 7);
}
