import { ENVELOPE_HEADER_BYTES, envelope, writeEnvelopeHeader } from "@boxyard/spec";
import { FilesystemEventTable, type GetWatcherEventsResponse, WatchDirResponseTable } from "@boxyard/spec/agent";
import type { BodyClaim } from "../../body/budget.ts";
import { EncodedEnvelope, EncodedMessage } from "../../contracts.ts";
import { encodeMessage } from "../../rpc/codec.ts";
import { LIMITS } from "../limits.ts";
import { TimeSlice } from "../time-slice.ts";
import type { Watch } from "../watch/watch.ts";

/** Up to so many events are encoded as one message of objects. */
const FEW = 256;

/** Takes the next events of a queue, about `eventPieceBytes` of them; undefined when the queue is empty. Throws the queue's failure. */
export function nextEnvelopes({ queue, present }: Watch): EncodedEnvelope | undefined {
  const texts: string[] = [];
  let length = 0;
  do {
    const event = queue.take();
    if (!event) break;
    const text = encodeMessage(WatchDirResponseTable, { filesystem: present(event) });
    texts.push(text);
    length += text.length;
    // After the last event `take` would throw the queue's failure: the next call reports that.
  } while (queue.length > 0 && length < LIMITS.eventPieceBytes);
  const [first] = texts;
  if (first === undefined) return undefined;
  return new EncodedEnvelope(texts.length === 1 ? envelope(0, first) : joined(texts));
}

/** The envelopes of these messages in one buffer. */
function joined(texts: readonly string[]): Uint8Array {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + ENVELOPE_HEADER_BYTES + length, 0));
  let at = 0;
  for (const [i, text] of texts.entries()) {
    const length = lengths[i] ?? 0;
    writeEnvelopeHeader(bytes.subarray(at, at + ENVELOPE_HEADER_BYTES), 0, length);
    bytes.write(text, at + ENVELOPE_HEADER_BYTES);
    at += ENVELOPE_HEADER_BYTES + length;
  }
  return bytes;
}

/** Takes all events of the queue for one answer. Throws the queue's failure when the queue is empty. */
export async function takeAll(watch: Watch, claim: () => BodyClaim): Promise<GetWatcherEventsResponse | EncodedMessage> {
  const { queue, present } = watch;
  const count = queue.length;
  if (count > FEW) return takeMany(watch, count, claim());
  const events = [];
  for (let event = queue.take(); event; event = queue.length > 0 ? queue.take() : undefined) events.push(present(event));
  return { events };
}

/** Encodes many events in pieces, and lets other requests run in between. */
async function takeMany({ queue, present }: Watch, count: number, claim: BodyClaim): Promise<EncodedMessage> {
  const pieces: Buffer<ArrayBuffer>[] = [];
  const slice = new TimeSlice();
  let bytes = 0;
  let text = '{"events":[';
  try {
    for (let left = count; left > 0 && queue.length > 0; left--) {
      const event = queue.take();
      if (!event) break;
      if (left < count) text += ",";
      text += encodeMessage(FilesystemEventTable, present(event));
      if (text.length >= LIMITS.eventPieceBytes) {
        pieces.push(Buffer.from(text));
        bytes += text.length;
        text = "";
        await claim.hold(bytes);
      }
      const turn = slice.turn();
      if (turn) await turn;
    }
    pieces.push(Buffer.from(`${text}]}`));
    return new EncodedMessage(pieces, () => claim.release());
  } catch (error) {
    claim.release();
    queue.lose();
    throw error;
  }
}
