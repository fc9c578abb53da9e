/*
 * Content type by the name's ending, else by the first bytes.
 */

const MAGIC: readonly (readonly [string, string])[] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF87a", "image/gif"],
  ["GIF89a", "image/gif"],
  ["%PDF-", "application/pdf"],
  ["PK\x03\x04", "application/zip"],
  ["\x1f\x8b\x08", "application/x-gzip"],
  ["OggS\x00", "application/ogg"],
  ["\x00asm", "application/wasm"],
];

/** How many bytes of a file `sniff` examines. */
export const SNIFF_BYTES = 512;

const UNKNOWN = "application/octet-stream";

/** The type that belongs to the name's ending; undefined for an unknown ending or none. */
export function typeOfName(name: string): string | undefined {
  if (!/\.[A-Za-z0-9]+$/.test(name)) return undefined;
  // Bun.file only maps the ending to a type; no file is opened.
  const type = Bun.file(`x${name.slice(name.lastIndexOf("."))}`).type;
  return type === UNKNOWN ? undefined : type;
}

/** The type by the first bytes: one of a few formats with a signature, text, or unknown bytes. */
export function sniff(start: Uint8Array): string {
  const head = Buffer.from(start.buffer, start.byteOffset, Math.min(start.byteLength, SNIFF_BYTES)).toString("latin1");
  const known = MAGIC.find(([mark]) => head.startsWith(mark));
  if (known) return known[1];
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the bytes that text does not hold
  return /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/.test(head) ? UNKNOWN : "text/plain; charset=utf-8";
}
