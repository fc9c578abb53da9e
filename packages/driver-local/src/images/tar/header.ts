/** One 512-byte header of a tar. Text fields are byte strings (`latin1`), unchanged. */
export interface RawHeader {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly type: string;
  readonly link: string;
}

export const BLOCK = 512;

/** A tar that violates the format. Becomes `invalid_argument`, reason `bad_layer`. */
export class BadTar extends Error {
  override readonly name = "BadTar";
}

function text(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at);
  return block.toString("latin1", at, end >= 0 && end < at + length ? end : at + length);
}

/** Octal digits, or (GNU) a big-endian number whose first bit is set. */
function number(block: Buffer, at: number, length: number, what: string): number {
  const first = block[at] as number;
  if (first & 0x80) {
    // A first byte of 255 means a negative number, which is invalid for sizes and ids; a time before 1970 becomes 1970.
    if (first === 0xff) return 0;
    let value = first & 0x7f;
    for (let i = at + 1; i < at + length; i++) {
      value = value * 256 + (block[i] as number);
      if (value > Number.MAX_SAFE_INTEGER) throw new BadTar(`the ${what} of an entry is out of range`);
    }
    return value;
  }
  const digits = text(block, at, length).trim();
  if (digits === "") return 0;
  if (!/^[0-7]+$/.test(digits)) throw new BadTar(`the ${what} of an entry is no number`);
  const value = Number.parseInt(digits, 8);
  if (value > Number.MAX_SAFE_INTEGER) throw new BadTar(`the ${what} of an entry is out of range`);
  return value;
}

function checkSum(block: Buffer): void {
  let unsigned = 8 * 32;
  let signed = 8 * 32;
  for (let i = 0; i < BLOCK; i++) {
    if (i >= 148 && i < 156) continue;
    const byte = block[i] as number;
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  const want = number(block, 148, 8, "checksum");
  // Old programs summed signed bytes.
  if (want !== unsigned && want !== signed) throw new BadTar("a header's checksum is wrong");
}

export const isZeroBlock = (block: Buffer): boolean => block.every((byte) => byte === 0);

/** Parses one block. Throws `BadTar`. */
export function parseHeader(block: Buffer): RawHeader {
  checkSum(block);
  const magic = block.toString("latin1", 257, 262);
  // A prefix is the first part of a long name in the POSIX format; GNU's own format has other fields there.
  const posix = magic === "ustar" && block[262] === 0;
  const prefix = posix ? text(block, 345, 155) : "";
  const name = text(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    mode: number(block, 100, 8, "mode") & 0o7777,
    uid: number(block, 108, 8, "owner"),
    gid: number(block, 116, 8, "group"),
    size: number(block, 124, 12, "size"),
    mtime: number(block, 136, 12, "time"),
    type: String.fromCharCode(block[156] || 48),
    link: text(block, 157, 100),
  };
}

/** Parses the records of a PAX header, `<length> <key>=<value>\n` each; later ones win. Keys and values are byte strings. */
export function parsePax(data: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < data.length; ) {
    const blank = data.indexOf(32, at);
    const digits = blank < 0 || blank - at > 10 ? "" : data.toString("latin1", at, blank);
    const length = /^[1-9][0-9]*$/.test(digits) ? Number(digits) : 0;
    const end = at + length;
    const equals = data.indexOf(61, blank);
    if (length === 0 || end > data.length || data[end - 1] !== 10 || equals < 0 || equals >= end) {
      // Some writers pad the data with zeros.
      if (data.subarray(at).every((byte) => byte === 0)) break;
      throw new BadTar("a PAX record is malformed");
    }
    records.set(data.toString("latin1", blank + 1, equals), data.toString("latin1", equals + 1, end - 1));
    at = end;
  }
  return records;
}
