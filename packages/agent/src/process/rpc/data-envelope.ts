import { ENVELOPE_HEADER_BYTES, writeEnvelopeHeader } from "@boxyard/spec";
import { EncodedEnvelope } from "../../contracts.ts";
import { base64Of } from "../../rpc/codec.ts";
import type { OutputKind, OutputPiece } from "../output-log.ts";

/** JSON before the base64 of a data event, the same in the answers of Start and Connect. */
const HEADS: Readonly<Record<OutputKind, Buffer>> = {
  stdout: Buffer.from('{"event":{"data":{"stdout":"'),
  stderr: Buffer.from('{"event":{"data":{"stderr":"'),
  pty: Buffer.from('{"event":{"data":{"pty":"'),
};
const TAIL = Buffer.from('"}}}');

/** A piece of output as the envelope of its data event: one buffer, filled once. */
export function dataEnvelope(piece: OutputPiece): EncodedEnvelope {
  const head = HEADS[piece.kind];
  const text = base64Of(piece.bytes);
  const length = head.length + text.length + TAIL.length;
  const bytes = Buffer.allocUnsafeSlow(ENVELOPE_HEADER_BYTES + length);
  writeEnvelopeHeader(bytes, 0, length);
  bytes.set(head, ENVELOPE_HEADER_BYTES);
  bytes.write(text, ENVELOPE_HEADER_BYTES + head.length, "latin1");
  bytes.set(TAIL, ENVELOPE_HEADER_BYTES + length - TAIL.length);
  return new EncodedEnvelope(bytes);
}
