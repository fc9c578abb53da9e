/*
 * The part of the tar format (POSIX ustar) that goes over the wire: clients upload files in it, and images are imported and exported in it. Owners are 0,
 * and times are where none is given, so that an archive follows from its content.
 */

export const TAR_BLOCK = 512;
/** Largest size that the digits of a header hold. */
export const MAX_OCTAL_SIZE = 8 ** 11 - 1;
const TAR_TYPES = { file: "0", symlink: "2", directory: "5", pax: "x" } as const;

export interface TarFacts {
  /** In 100 bytes; the rest is cut off. */
  readonly name: string;
  readonly size: number;
  /** 0644 by default. */
  readonly mode?: number;
  /** `file` by default. */
  readonly type?: keyof typeof TAR_TYPES;
  /** Of a symbolic link. */
  readonly target?: string;
  /** Time of its change, in seconds since 1970; 0 by default. */
  readonly modified?: number;
}

const encoder = new TextEncoder();

/** The header of an entry. A size above `MAX_OCTAL_SIZE` is written in base 256, as GNU tar does. */
export function tarHeader({ name, size, mode = 0o644, type = "file", target = "", modified = 0 }: TarFacts): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(TAR_BLOCK);
  const put = (text: string, at: number, most: number) => encoder.encodeInto(text, block.subarray(at, at + most));
  const octal = (value: number, at: number, digits: number) => put(value.toString(8).padStart(digits, "0"), at, digits);
  put(name, 0, 100);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (size <= MAX_OCTAL_SIZE) octal(size, 124, 11);
  else {
    block[124] = 0x80;
    new DataView(block.buffer).setBigUint64(128, BigInt(size));
  }
  octal(Math.min(Math.max(0, modified), MAX_OCTAL_SIZE), 136, 11);
  put("        ", 148, 8);
  put(TAR_TYPES[type], 156, 1);
  put(target, 157, 100);
  put("ustar\0" + "00", 257, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

/** The header of an entry, after one of extended records (POSIX pax) where its name, target or size does not fit into the old fields. */
export function tarEntry(facts: TarFacts): Uint8Array<ArrayBuffer>[] {
  const records: [key: string, value: string][] = [];
  if (!fits(facts.name)) records.push(["path", facts.name]);
  if (!fits(facts.target ?? "")) records.push(["linkpath", facts.target ?? ""]);
  if (facts.size > MAX_OCTAL_SIZE) records.push(["size", String(facts.size)]);
  const own = tarHeader({ ...facts, size: Math.min(facts.size, MAX_OCTAL_SIZE) });
  if (records.length === 0) return [own];
  const body = encoder.encode(records.map(([key, value]) => paxRecord(key, value)).join(""));
  return [tarHeader({ name: "pax", size: body.length, type: "pax" }), body, tarPadding(body.length), own];
}

/** Names outside ASCII have no agreed meaning in the old fields. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character.
const fits = (text: string) => text.length <= 100 && /^[\x00-\x7f]*$/.test(text);

/** `LENGTH key=value\n`, where the length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return `${length} ${key}=${value}\n`;
}

/** What follows a content of this size. */
export const tarPadding = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array((TAR_BLOCK - (size % TAR_BLOCK)) % TAR_BLOCK);
/** The end of an archive. */
export const tarEnd = (): Uint8Array<ArrayBuffer> => new Uint8Array(2 * TAR_BLOCK);
