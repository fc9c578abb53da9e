import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";

/** A store with the usual certificates has about 170 KiB. */
const MAX_STORE_BYTES = 2 << 20;
/** Format JKS, in which every version of Java reads trusted certificates. */
const MAGIC = 0xfeedfeed;
const VERSION = 2;
const HEADER_BYTES = 12;
const TRUSTED_CERTIFICATE = 2;
const DIGEST_BYTES = 20;
/** Default password of Java's key stores. It is part of the digest at the end of the store, and keeps nothing secret. */
const PASSWORD = "changeit";
const OURS = "boxyard-";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;

/**
 * Adds the certificates of `pem` to the key store that Java of Debian and similar distributions trusts, and removes those of an earlier call. Does
 * nothing where there is no such store, or one without the format, password and kind of entries (certificates only) that distributions use,
 * because Java reads nothing of a damaged store. The store is written in place: no program of the sandbox runs meanwhile.
 */
export function setJavaStore(path: string, pem: string): void {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return;
  }
  try {
    const { size } = fstatSync(fd);
    if (!fstatSync(fd).isFile() || size > MAX_STORE_BYTES) return;
    const before = Buffer.alloc(size);
    if (readSync(fd, before, 0, size, 0) !== size) return;
    const after = withCertificates(before, pem);
    if (!after || after.equals(before)) return;
    for (let done = 0; done < after.length; ) done += writeSync(fd, after, done, after.length - done, done);
    ftruncateSync(fd, after.length);
  } finally {
    closeSync(fd);
  }
}

/** The store with the certificates of `pem` in place of earlier ones; undefined for a store that must not be changed. */
function withCertificates(store: Buffer, pem: string): Buffer | undefined {
  const entries = entriesOf(store);
  if (!entries || !digestOf(store.subarray(0, -DIGEST_BYTES)).equals(store.subarray(-DIGEST_BYTES))) return undefined;
  const theirs = entries.filter(({ alias }) => !alias.startsWith(OURS)).map(({ bytes }) => bytes);
  const ours = new Map(
    [...pem.matchAll(CERTIFICATE)]
      .map(([, text = ""]) => Buffer.from(text, "base64"))
      .filter(isCertificate)
      .map(entryOf),
  );
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(MAGIC, 0);
  header.writeUInt32BE(VERSION, 4);
  header.writeUInt32BE(theirs.length + ours.size, 8);
  const content = Buffer.concat([header, ...theirs, ...ours.values()]);
  return Buffer.concat([content, digestOf(content)]);
}

interface Entry {
  readonly alias: string;
  readonly bytes: Buffer;
}

/** Undefined for anything but a list of trusted certificates. */
function entriesOf(store: Buffer): Entry[] | undefined {
  const end = store.length - DIGEST_BYTES;
  if (end < HEADER_BYTES || store.readUInt32BE(0) !== MAGIC || store.readUInt32BE(4) !== VERSION) return undefined;
  const entries: Entry[] = [];
  let at = HEADER_BYTES;
  try {
    for (let left = store.readUInt32BE(8); left > 0; left--) {
      if (store.readUInt32BE(at) !== TRUSTED_CERTIFICATE) return undefined;
      const aliasBytes = store.readUInt16BE(at + 4);
      const alias = store.toString("latin1", at + 6, at + 6 + aliasBytes);
      // The alias is followed by a time (8 bytes), the name of the certificate's type, and the certificate.
      const type = at + 6 + aliasBytes + 8;
      const certificate = type + 2 + store.readUInt16BE(type);
      const next = certificate + 4 + store.readUInt32BE(certificate);
      if (next > end) return undefined;
      entries.push({ alias, bytes: store.subarray(at, next) });
      at = next;
    }
  } catch {
    // The store ends in the middle of an entry.
    return undefined;
  }
  return at === end ? entries : undefined;
}

/** The entry of a certificate, with its alias, which is derived from the certificate. */
function entryOf(der: Buffer): [alias: string, bytes: Buffer] {
  const alias = OURS + new Bun.CryptoHasher("sha256").update(der).digest("hex").slice(0, 32);
  const tag = Buffer.alloc(4);
  tag.writeUInt32BE(TRUSTED_CERTIFICATE);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(der.length);
  return [alias, Buffer.concat([tag, text(alias), Buffer.alloc(8), text("X.509"), length, der])];
}

function text(ascii: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(ascii.length);
  return Buffer.concat([length, Buffer.from(ascii, "latin1")]);
}

/** Whether the bytes are exactly a DER sequence of a certificate's three parts: with one bad entry Java reads nothing of the store. */
function isCertificate(der: Buffer): boolean {
  const whole = partAt(der, 0);
  if (whole?.tag !== 0x30 || whole.end !== der.length) return false;
  const parts: number[] = [];
  for (let at = whole.start; at < der.length; ) {
    const part = partAt(der, at);
    if (!part || part.end > der.length) return false;
    parts.push(part.tag);
    at = part.end;
  }
  return parts.join() === [0x30, 0x30, 0x03].join();
}

/** The DER element at `at`: its tag, and where its content starts and ends. */
function partAt(der: Buffer, at: number): { readonly tag: number; readonly start: number; readonly end: number } | undefined {
  const [tag, first] = [der[at], der[at + 1]];
  if (tag === undefined || first === undefined) return undefined;
  if (first < 0x80) return { tag, start: at + 2, end: at + 2 + first };
  const count = first & 0x7f;
  if (count === 0 || count > 3 || at + 2 + count > der.length) return undefined;
  const start = at + 2 + count;
  return { tag, start, end: start + der.readUIntBE(at + 2, count) };
}

function digestOf(content: Buffer): Buffer {
  const password = Buffer.from(PASSWORD, "utf16le").swap16();
  return new Bun.CryptoHasher("sha1").update(password).update("Mighty Aphrodite").update(content).digest() as Buffer;
}
