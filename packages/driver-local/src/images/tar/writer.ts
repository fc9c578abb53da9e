import { BLOCK } from "./header.ts";

/** The fields of an entry's header. Texts are byte strings. */
export interface HeaderFacts {
  readonly path: string;
  readonly type: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
  readonly link?: string;
  readonly xattrs?: ReadonlyMap<string, Uint8Array>;
}

const MAX_SIZE = 0o77777777777;
const MAX_ID = 0o7777777;

function block(facts: HeaderFacts): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) => header.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  header.write(facts.path.slice(0, 100), 0, "latin1");
  octal(facts.mode & 0o7777, 100, 8);
  octal(facts.uid > MAX_ID ? 0 : facts.uid, 108, 8);
  octal(facts.gid > MAX_ID ? 0 : facts.gid, 116, 8);
  octal(facts.size > MAX_SIZE ? 0 : facts.size, 124, 12);
  octal(facts.mtime, 136, 12);
  header.fill(" ", 148, 156);
  header.write(facts.type, 156, "latin1");
  header.write((facts.link ?? "").slice(0, 100), 157, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  octal(0, 329, 8);
  octal(0, 337, 8);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

/** PAX records for values that do not fit into a header of 512 bytes, sorted by key, so that equal entries have equal bytes. */
function paxOf(facts: HeaderFacts): string {
  const records: [string, string][] = [];
  if (facts.path.length > 100) records.push(["path", facts.path]);
  if ((facts.link ?? "").length > 100) records.push(["linkpath", facts.link as string]);
  if (facts.size > MAX_SIZE) records.push(["size", String(facts.size)]);
  if (facts.uid > MAX_ID) records.push(["uid", String(facts.uid)]);
  if (facts.gid > MAX_ID) records.push(["gid", String(facts.gid)]);
  for (const [name, value] of facts.xattrs ?? []) records.push([`SCHILY.xattr.${name}`, Buffer.from(value).toString("latin1")]);
  records.sort(([a], [b]) => (a < b ? -1 : 1));
  return records.map(([key, value]) => paxRecord(key, value)).join("");
}

export const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** The bytes before an entry's content; with a PAX header only where it is needed. */
export function headerBytes(facts: HeaderFacts): Buffer {
  const pax = Buffer.from(paxOf(facts), "latin1");
  if (pax.length === 0) return block(facts);
  const before = block({ path: "././@PaxHeader", type: "x", mode: 0o644, uid: 0, gid: 0, size: pax.length, mtime: 0 });
  return Buffer.concat([before, pax, paddingOf(pax.length), block(facts)]);
}

/** The end of a tar. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * BLOCK);
