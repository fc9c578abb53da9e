/**
 * The part of the DNS message format (RFC 1035, RFC 6891) that a forwarder needs: read the question of a hostile query, make a clean query
 * from it, recognise the answer, and return it. Of what a sandbox sends, only the bytes of its question are forwarded unchanged.
 */

export const RCODE = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NOTIMP: 4, REFUSED: 5 } as const;

const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
const MAX_LABEL_BYTES = 63;
const TYPE_OPT = 41;
const TYPE_IXFR = 251;
const TYPE_AXFR = 252;
const FLAG = { QR: 0x8000, TC: 0x0200, RD: 0x0100, RA: 0x0080, AD: 0x0020, CD: 0x0010 } as const;
const OPCODE_MASK = 0x7800;
const RCODE_MASK = 0x000f;
const DO_BIT = 0x8000;
/** UDP answers up to this size need no fragments on any path (DNS flag day 2020). */
const SAFE_UDP_BYTES = 1232;
const PLAIN_UDP_BYTES = 512;

/** Longest query that is accepted, over UDP or TCP: a question of 259 bytes with header and options is far shorter. */
export const MAX_QUERY_BYTES = 2048;

export interface Query {
  readonly id: number;
  readonly flags: number;
  /** Name, type and class, as sent. */
  readonly question: Uint8Array;
  /** The client's EDNS options, if any: the longest answer that it accepts over UDP, and whether it wants DNSSEC records. */
  readonly edns: { readonly udpBytes: number; readonly dnssecOk: boolean } | undefined;
}

/** A query; or the bytes that refuse it; or undefined for a message that gets no answer at all. */
export type Parsed = { readonly query: Query } | { readonly refusal: Uint8Array } | undefined;

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A copy; `slice` of a Buffer would share its memory. */
const copy = (bytes: Uint8Array, from: number, to: number): Uint8Array => new Uint8Array(bytes.subarray(from, to));

export function parseQuery(bytes: Uint8Array): Parsed {
  if (bytes.length < HEADER_BYTES || bytes.length > MAX_QUERY_BYTES) return undefined;
  const view = viewOf(bytes);
  const id = view.getUint16(0);
  const flags = view.getUint16(2);
  // Two servers that answer answers could answer each other for ever.
  if (flags & FLAG.QR) return undefined;
  const bare: Query = { id, flags, question: new Uint8Array(0), edns: undefined };
  if (flags & OPCODE_MASK) return { refusal: makeError(bare, RCODE.NOTIMP) };
  const counts = [4, 6, 8, 10].map((at) => view.getUint16(at)) as [number, number, number, number];
  const end = endOfQuestion(bytes);
  if (counts[0] !== 1 || counts[1] !== 0 || counts[2] !== 0 || end === undefined) return { refusal: makeError(bare, RCODE.FORMERR) };
  const question = copy(bytes, HEADER_BYTES, end);
  const query: Query = { id, flags, question, edns: counts[3] > 0 ? parseOpt(bytes, end) : undefined };
  const type = viewOf(question).getUint16(question.length - 4);
  // A sandbox has no reason to request a whole zone from the machine's resolver.
  if (type === TYPE_AXFR || type === TYPE_IXFR) return { refusal: makeError(query, RCODE.REFUSED) };
  return { query };
}

/** Where the one question ends; undefined when it is malformed. A question needs no compression, so pointers are refused. */
function endOfQuestion(bytes: Uint8Array): number | undefined {
  let at = HEADER_BYTES;
  for (;;) {
    const length = bytes[at];
    if (length === undefined || length > MAX_LABEL_BYTES) return undefined;
    at += 1 + length;
    if (at - HEADER_BYTES > MAX_NAME_BYTES) return undefined;
    if (length === 0) break;
  }
  return at + 4 <= bytes.length ? at + 4 : undefined;
}

/** The name that a query asks for, as it was sent, without the final dot. Bytes outside of ASCII are one character each. */
export function nameOf({ question }: Query): string {
  const labels: string[] = [];
  for (let at = 0; ; ) {
    const length = question[at] ?? 0;
    if (length === 0) return labels.join(".");
    labels.push(Buffer.from(question.subarray(at + 1, at + 1 + length)).toString("latin1"));
    at += 1 + length;
  }
}

function parseOpt(bytes: Uint8Array, at: number): Query["edns"] {
  if (at + 11 > bytes.length || bytes[at] !== 0) return undefined;
  const view = viewOf(bytes);
  if (view.getUint16(at + 1) !== TYPE_OPT) return undefined;
  return { udpBytes: Math.max(PLAIN_UDP_BYTES, view.getUint16(at + 3)), dnssecOk: (view.getUint16(at + 7) & DO_BIT) !== 0 };
}

/** Our own query with the same question and the id `id`. */
export function makeUpstreamQuery(query: Query, id: number): Uint8Array {
  const { question, edns } = query;
  const bytes = new Uint8Array(HEADER_BYTES + question.length + (edns ? 11 : 0));
  const view = viewOf(bytes);
  view.setUint16(0, id);
  view.setUint16(2, query.flags & (FLAG.RD | FLAG.AD | FLAG.CD));
  view.setUint16(4, 1);
  bytes.set(question, HEADER_BYTES);
  if (edns) {
    const at = HEADER_BYTES + question.length;
    view.setUint16(10, 1);
    view.setUint16(at + 1, TYPE_OPT);
    view.setUint16(at + 3, Math.min(edns.udpBytes, SAFE_UDP_BYTES));
    view.setUint16(at + 7, edns.dnssecOk ? DO_BIT : 0);
  }
  return bytes;
}

/** True when `bytes` answer our query `id` with this question. Letters may differ in case: some resolvers change it. */
export function isAnswerTo(bytes: Uint8Array, id: number, question: Uint8Array): boolean {
  if (bytes.length < HEADER_BYTES + question.length) return false;
  const view = viewOf(bytes);
  if (view.getUint16(0) !== id || !(view.getUint16(2) & FLAG.QR) || view.getUint16(4) !== 1) return false;
  const nameBytes = question.length - 4;
  return question.every((byte, i) => {
    const other = bytes[HEADER_BYTES + i] as number;
    return byte === other || (i < nameBytes && lower(byte) === lower(other));
  });
}

const lower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte);

export const rcodeOf = (answer: Uint8Array): number => (answer[3] ?? 0) & RCODE_MASK;

export const isTruncated = (answer: Uint8Array): boolean => (viewOf(answer).getUint16(2) & FLAG.TC) !== 0;

/** The answer with the client's id. Over UDP, an answer that is too long for the client is truncated, so that the client uses TCP. */
export function makeReply(query: Query, answer: Uint8Array, overUdp: boolean): Uint8Array {
  const limit = Math.min(query.edns?.udpBytes ?? PLAIN_UDP_BYTES, SAFE_UDP_BYTES);
  const fits = !overUdp || answer.length <= limit;
  const reply = copy(answer, 0, fits ? answer.length : HEADER_BYTES + query.question.length);
  const view = viewOf(reply);
  view.setUint16(0, query.id);
  if (!fits) {
    view.setUint16(2, view.getUint16(2) | FLAG.TC);
    for (const at of [6, 8, 10]) view.setUint16(at, 0);
  }
  return reply;
}

/** An answer that has only a response code and the question. */
export function makeError(query: Query, rcode: number): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + query.question.length);
  const view = viewOf(bytes);
  view.setUint16(0, query.id);
  view.setUint16(2, FLAG.QR | FLAG.RA | (query.flags & (OPCODE_MASK | FLAG.RD | FLAG.CD)) | rcode);
  view.setUint16(4, query.question.length > 0 ? 1 : 0);
  bytes.set(query.question, HEADER_BYTES);
  return bytes;
}
