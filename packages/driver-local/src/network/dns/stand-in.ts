import { makeError, type Query, RCODE } from "./wire.ts";

/** Of the addresses for benchmarks (RFC 2544), which no sandbox reaches: connections to it are answered from a recording, or refused. */
const STAND_IN_ADDRESS = [198, 18, 0, 80] as const;
const TYPE_A = 1;
const TTL_SECONDS = 60;
/** A name by its place in the message: that of the question (RFC 1035, 4.1.4). */
const NAME_OF_QUESTION = 0xc00c;
const RECORD_BYTES = 16;
const ANSWER_COUNT_AT = 6;

/** The answer to a question for a name that any server may have: one address, and nothing to questions of other types. */
export function standInAnswer(query: Query): Uint8Array {
  const { question } = query;
  const empty = makeError(query, RCODE.NOERROR);
  const type = new DataView(question.buffer, question.byteOffset).getUint16(question.length - 4);
  if (type !== TYPE_A) return empty;
  // Behind the question there is nothing: options of the answer are left out.
  const end = 12 + question.length;
  const answer = new Uint8Array(end + RECORD_BYTES);
  answer.set(empty.subarray(0, end));
  const view = new DataView(answer.buffer);
  view.setUint16(ANSWER_COUNT_AT, 1);
  view.setUint16(ANSWER_COUNT_AT + 4, 0);
  for (const [at, value] of [NAME_OF_QUESTION, TYPE_A, 1].entries()) view.setUint16(end + 2 * at, value);
  view.setUint32(end + 6, TTL_SECONDS);
  view.setUint16(end + 10, STAND_IN_ADDRESS.length);
  answer.set(STAND_IN_ADDRESS, end + 12);
  return answer;
}
