import { ByteBuilder } from "./byte-builder.ts";
import type { FieldNames } from "./fields.ts";
import { endOfHead, HeadError, MAX_HEAD_BYTES, parseRequestHead, type RequestHead, withFieldsOf } from "./head.ts";
import { HeadMemory } from "./head-memory.ts";

/** The first byte of every TLS connection. */
const TLS_HANDSHAKE = 0x16;
/** Bytes of empty lines that are skipped before a request (RFC 9112, 2.2). */
const MAX_EMPTY_BYTES = 8;
const EMPTY = Buffer.alloc(0);

/** Reads the heads of requests from a connection's bytes. */
export class RequestReader {
  /** What follows the head that `read` returned last. */
  rest: Buffer = EMPTY;
  private readonly names: FieldNames;
  private readonly begun = new ByteBuilder();
  private readonly known = new HeadMemory<RequestHead>();

  constructor(names: FieldNames) {
    this.names = names;
  }

  /** True while a head is incomplete. */
  get hasBegun(): boolean {
    return this.begun.byteLength > 0;
  }

  /** The head that ends in `bytes`; undefined while it goes on. Throws `HeadError`. */
  read(bytes: Buffer): RequestHead | undefined {
    const from = this.begun.byteLength;
    const known = from === 0 ? this.readKnown(bytes) : undefined;
    if (known) return known;
    if (from > 0) this.begun.append(bytes);
    const all = from > 0 ? this.begun.view() : bytes;
    const start = emptyLines(all);
    // Without this check a client that uses https:// would wait until the head's time is over.
    if (all[start] === TLS_HANDSHAKE) throw new HeadError(400, "a TLS handshake on a port for plain HTTP");
    const end = endOfHead(all, Math.max(start + 3, from));
    if ((end < 0 ? all.byteLength : end) - start > MAX_HEAD_BYTES) throw new HeadError(431, "request head too large");
    if (end < 0) {
      if (from === 0) this.begun.append(bytes);
      return undefined;
    }
    if (from > 0) this.begun.take();
    const head = start === 0 ? all : all.subarray(start);
    const request = parseRequestHead(head.toString("latin1", 0, end - start - 4), this.names);
    this.known.remember(head, end - start, request);
    this.rest = behind(all, end);
    return request;
  }

  /** A head that equals the last one, or differs from it in the first line only. */
  private readKnown(bytes: Buffer): RequestHead | undefined {
    const { known } = this;
    const same = known.recall(bytes);
    if (same) {
      this.rest = behind(bytes, known.byteLength);
      return same;
    }
    const alike = known.recallFields(bytes);
    const request = alike && withFieldsOf(alike.made, bytes.toString("latin1", 0, alike.line));
    if (request) this.rest = behind(bytes, alike.end);
    return request;
  }
}

const behind = (bytes: Buffer, end: number) => (end === bytes.byteLength ? EMPTY : bytes.subarray(end));

function emptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === 13 && bytes[at + 1] === 10 && at < MAX_EMPTY_BYTES) at += 2;
  return at;
}
