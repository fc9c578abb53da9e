/** Fields of a head in their order, as they were sent. */
export type RecordedFields = readonly (readonly [name: string, value: string])[];

/** A body: its content without the coding of its transfer, in `data` frames. */
export interface RecordedBody {
  readonly bytes: number;
  /** Where each frame begins, and the length of its content. */
  readonly pieces: readonly (readonly [at: number, length: number])[];
}

/** A request of a sandbox with the answer that it got. */
export interface RecordedExchange {
  /** Milliseconds since 1970, at the request's head. */
  readonly at: number;
  /** Until the end of the answer. */
  readonly tookMs: number;
  readonly method: string;
  readonly url: string;
  readonly fields: RecordedFields;
  readonly body: RecordedBody;
  /** SHA-256 of the request's body as the sandbox sent it, in hex; empty without a body. */
  readonly digest: string;
  readonly status: number;
  readonly reason: string;
  readonly answerFields: RecordedFields;
  readonly answer: RecordedBody;
}

/** Bounds of what is read of a file that may be damaged. */
const MOST = { text: 128 << 10, fields: 1024, pieces: 20_000 } as const;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}$/;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,1024}$/;
const NO_FIELD = /[\r\n\0]/;
const URL_TEXT = /^https?:\/\/[\x21-\x7e\x80-\xff]+$/;

/** An exchange as a frame has it, which ends before `end`; undefined for what this program has not written. */
export function parseExchange(bytes: Uint8Array, end: number): RecordedExchange | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
  return isExchange(value, end) ? value : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown): value is string => typeof value === "string" && value.length <= MOST.text;

/** Whether this program reads it again: an exchange of a frame that begins at `end`. */
export function isExchange(value: unknown, end: number): value is RecordedExchange {
  if (!isObject(value)) return false;
  const { at, tookMs, method, url, fields, body, digest, status, reason, answerFields, answer } = value;
  if (!isCount(at) || !isCount(tookMs) || !isText(method) || !METHOD.test(method) || !isText(url) || !URL_TEXT.test(url)) return false;
  if (!isText(digest) || !/^([0-9a-f]{64})?$/.test(digest) || !isText(reason) || NO_FIELD.test(reason)) return false;
  if (!isCount(status) || status < 200 || status > 999) return false;
  return areFields(fields) && areFields(answerFields) && isBody(body, end) && isBody(answer, end);
}

function areFields(value: unknown): value is RecordedFields {
  if (!Array.isArray(value) || value.length > MOST.fields) return false;
  return value.every((field: unknown) => {
    if (!Array.isArray(field) || field.length !== 2) return false;
    const [name, text] = field as unknown[];
    return isText(name) && FIELD_NAME.test(name) && isText(text) && !NO_FIELD.test(text);
  });
}

/** Pieces come one after the other before the exchange itself: so a file that is damaged makes no reader go in a circle. */
function isBody(value: unknown, end: number): value is RecordedBody {
  if (!isObject(value) || !isCount(value.bytes) || !Array.isArray(value.pieces) || value.pieces.length > MOST.pieces) return false;
  let last = 0;
  let bytes = 0;
  for (const piece of value.pieces as unknown[]) {
    if (!Array.isArray(piece) || piece.length !== 2) return false;
    const [at, length] = piece as unknown[];
    if (!isCount(at) || !isCount(length) || at < last || at + length > end) return false;
    last = at + length;
    bytes += length;
  }
  return bytes === value.bytes;
}
