import { AppError } from "@boxyard/core";
import { LIMITS } from "./limits.ts";
import { getXattr, listXattr } from "./sys/xattr.ts";

/*
 * User metadata of files: extended attributes `user.e2b.<key>` (docs/contract/agent.md, Files).
 */

/** Name of the attribute that holds a key. */
export const METADATA_PREFIX = "user.e2b.";
const HEADER_PREFIX = "x-metadata-";
const PRINTABLE = /^[\x20-\x7e]*$/;

export type Metadata = Readonly<Record<string, string>>;

function invalid(why: string): AppError {
  return new AppError("invalid_argument", `invalid metadata: ${why}`, { reason: "bad_metadata" });
}

/** The metadata in an upload's `X-Metadata-<key>` headers. Throws 400 beyond the limits of the contract. */
export function metadataOfHeaders(headers: Headers): Metadata {
  const metadata: Record<string, string> = Object.create(null);
  let total = 0;
  for (const [header, value] of headers) {
    if (!header.startsWith(HEADER_PREFIX)) continue;
    const key = header.slice(HEADER_PREFIX.length);
    if (key === "") throw invalid("a header names no key");
    if (!PRINTABLE.test(key) || !PRINTABLE.test(value)) throw invalid(`'${key.slice(0, 64)}' holds characters other than printable ASCII`);
    if (key.length > LIMITS.metadataKeyBytes) throw invalid(`key of more than ${LIMITS.metadataKeyBytes} bytes`);
    total += METADATA_PREFIX.length + key.length + value.length;
    metadata[key] = value;
  }
  if (total > LIMITS.metadataTotalBytes) throw invalid(`more than ${LIMITS.metadataTotalBytes} bytes in all`);
  return metadata;
}

/**
 * Sandboxes refuse attributes of the sizes that large access lists have (`setxattr` in the driver's seccomp policy). A value of such a size is
 * stored with a NUL after it, which no value ends with.
 */
const LARGEST_LIST = 108;
const isSizeOfList = (bytes: number): boolean => bytes > LARGEST_LIST && bytes % 8 === 4;

/** A value as it is stored. */
export function storedValue(value: string): Uint8Array {
  const bytes = Buffer.from(value);
  return isSizeOfList(bytes.length) ? Buffer.concat([bytes, Buffer.of(0)]) : bytes;
}

/** The value that was stored so. */
function plainValue(stored: Uint8Array): Uint8Array {
  const length = stored.length - 1;
  return isSizeOfList(length) && stored[length] === 0 ? stored.subarray(0, length) : stored;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The metadata of a file, links followed; values that are not UTF-8 are left out. Empty when the file is missing or has none. */
export function metadataOfFile(path: string): Metadata {
  let names: string[];
  try {
    names = listXattr(path);
  } catch {
    return {};
  }
  const metadata: Record<string, string> = Object.create(null);
  for (const name of names) {
    if (!name.startsWith(METADATA_PREFIX)) continue;
    try {
      const value = getXattr(path, name);
      if (value) metadata[name.slice(METADATA_PREFIX.length)] = utf8.decode(plainValue(value));
    } catch {
      // Not UTF-8, or removed meanwhile.
    }
  }
  return metadata;
}
