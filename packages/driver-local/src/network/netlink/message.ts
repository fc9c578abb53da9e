/**
 * Netlink messages, made and read: a header of 16 bytes, a fixed part, then attributes (length, type, payload padded to four bytes).
 * Numbers are in the machine's order, which is little-endian on every machine we run on; addresses are in network order.
 */

export const NLM_F = { REQUEST: 0x1, ACK: 0x4, DUMP: 0x300, REPLACE: 0x100, EXCL: 0x200, CREATE: 0x400 } as const;
export const NLMSG = { ERROR: 2, DONE: 3 } as const;
const NLA_F_NESTED = 0x8000;
const NLA_TYPE_MASK = 0x3fff;
const HEADER_BYTES = 16;

const align = (n: number): number => (n + 3) & ~3;
const encoder = new TextEncoder();

/** Builds one message; `finish` gives its bytes. Sequence numbers are set by the socket that sends it. */
export class Message {
  private buffer = new Uint8Array(256);
  private view = new DataView(this.buffer.buffer);
  private length = HEADER_BYTES;
  /** What the message does, for errors: `add address 10.0.0.1`. */
  readonly label: string;
  /** Errors that mean "nothing to do" for this message. */
  readonly tolerated: readonly string[];

  constructor(label: string, type: number, flags: number, tolerated: readonly string[] = []) {
    this.label = label;
    this.tolerated = tolerated;
    this.view.setUint16(4, type, true);
    this.view.setUint16(6, flags | NLM_F.REQUEST, true);
  }

  /** Appends raw bytes, padded. */
  bytes(data: Uint8Array | readonly number[]): this {
    this.reserve(data.length);
    this.buffer.set(data, this.length);
    this.length += align(data.length);
    return this;
  }

  attr(type: number, payload: Uint8Array | readonly number[]): this {
    this.reserve(4 + payload.length);
    this.view.setUint16(this.length, 4 + payload.length, true);
    this.view.setUint16(this.length + 2, type, true);
    this.buffer.set(payload, this.length + 4);
    this.length += align(4 + payload.length);
    return this;
  }

  attrU32(type: number, value: number): this {
    return this.attr(type, u32(value));
  }

  /** A NUL-terminated string. */
  attrText(type: number, text: string): this {
    return this.attr(type, encoder.encode(`${text}\0`));
  }

  /** An attribute made of attributes (and, for some, a fixed part first). */
  nest(type: number, fill: (message: this) => void): this {
    const start = this.length;
    this.attr(type | NLA_F_NESTED, []);
    fill(this);
    this.view.setUint16(start, this.length - start, true);
    return this;
  }

  finish(): Uint8Array {
    this.view.setUint32(0, this.length, true);
    return this.buffer.subarray(0, this.length);
  }

  private reserve(more: number): void {
    const need = align(this.length + more);
    if (need <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(need, this.buffer.length * 2));
    grown.set(this.buffer);
    this.buffer = grown;
    this.view = new DataView(grown.buffer);
  }
}

/** Four bytes in the machine's order. */
export function u32(value: number): Uint8Array {
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, value, true);
  return out;
}

export interface Reply {
  readonly type: number;
  readonly flags: number;
  readonly seq: number;
  /** Everything after the header. */
  readonly body: Uint8Array;
}

/** The messages in the data that one `recv` returned. Stops at the first malformed message. */
export function* parseReplies(data: Uint8Array): Generator<Reply> {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + HEADER_BYTES <= data.length; ) {
    const length = view.getUint32(at, true);
    if (length < HEADER_BYTES || at + length > data.length) return;
    yield {
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      seq: view.getUint32(at + 8, true),
      body: data.subarray(at + HEADER_BYTES, at + length),
    };
    at += align(length);
  }
}

/** Attributes by type, from `offset` of a message's body. When a type is repeated, the last one counts. */
export function parseAttributes(body: Uint8Array, offset: number): Map<number, Uint8Array> {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const attributes = new Map<number, Uint8Array>();
  for (let at = offset; at + 4 <= body.length; ) {
    const length = view.getUint16(at, true);
    if (length < 4 || at + length > body.length) break;
    attributes.set(view.getUint16(at + 2, true) & NLA_TYPE_MASK, body.subarray(at + 4, at + length));
    at += align(length);
  }
  return attributes;
}

export function readU32(bytes: Uint8Array | undefined): number | undefined {
  if (!bytes || bytes.length < 4) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
}

/** Exact up to 2^53. */
export function readU64(bytes: Uint8Array | undefined): number | undefined {
  if (!bytes || bytes.length < 8) return undefined;
  return Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(0, true));
}

export function readText(bytes: Uint8Array | undefined): string {
  if (!bytes) return "";
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
