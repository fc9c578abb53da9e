/** One entry of a small tar, for tests. */
export interface TarEntry {
  readonly path: string;
  readonly text?: string | Uint8Array;
  readonly mode?: number;
  /** `file` by default. Numbers as in the format: 1 hard link, 2 symbolic link, 3 and 4 devices, 5 directory, 6 FIFO. */
  readonly type?: "file" | "hardlink" | "symlink" | "chardev" | "blockdev" | "directory" | "fifo";
  readonly linkTo?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Seconds since 1970; 0 by default. */
  readonly mtime?: number;
  /** Records of a PAX header before the entry, as they are. */
  readonly pax?: Readonly<Record<string, string | Uint8Array>>;
}

const TYPES = { file: "0", hardlink: "1", symlink: "2", chardev: "3", blockdev: "4", directory: "5", fifo: "6" } as const;
const BLOCK = 512;
const encoder = new TextEncoder();

function header(entry: TarEntry, size: number, typeflag: string): Uint8Array {
  const block = new Uint8Array(BLOCK);
  const put = (text: string, at: number, length: number) => block.set(encoder.encode(text).subarray(0, length), at);
  const octal = (value: number, at: number, length: number) => put(`${value.toString(8).padStart(length - 1, "0")}\0`, at, length);
  put(entry.path, 0, 100);
  octal(entry.mode ?? (entry.type === "directory" ? 0o755 : 0o644), 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(size, 124, 12);
  octal(entry.mtime ?? 0, 136, 12);
  put("        ", 148, 8);
  put(typeflag, 156, 1);
  put(entry.linkTo ?? "", 157, 100);
  put("ustar\x0000", 257, 8);
  const sum = block.reduce((a, b) => a + b, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

function padded(data: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(data.length / BLOCK) * BLOCK);
  whole.set(data);
  return whole;
}

function paxRecord(key: string, value: string | Uint8Array): Uint8Array {
  const rest = Buffer.concat([encoder.encode(` ${key}=`), typeof value === "string" ? encoder.encode(value) : value, encoder.encode("\n")]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([encoder.encode(String(length)), rest]);
}

/** A tar in memory of exactly these entries, for tests; checks nothing, so that hostile ones can be made. */
export function makeTar(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.pax) {
      const records = Buffer.concat(Object.entries(entry.pax).map(([key, value]) => paxRecord(key, value)));
      parts.push(header({ path: "pax" }, records.length, "x"), padded(records));
    }
    const { text = "" } = entry;
    const data = typeof text === "string" ? encoder.encode(text) : text;
    parts.push(header(entry, data.length, TYPES[entry.type ?? "file"]), padded(data));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return new Uint8Array(Buffer.concat(parts));
}

/** `sha256:<hex>` of some bytes. */
export const digestOf = (bytes: Uint8Array): string => `sha256:${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
