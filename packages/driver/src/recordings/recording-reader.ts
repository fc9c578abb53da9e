import type { FileHandle } from "node:fs/promises";
import { parseExchange, type RecordedBody, type RecordedExchange } from "./exchange.ts";
import { FIRST_LINE, FRAME, FRAME_HEAD_BYTES, framesOf, isRecording, readFrame } from "./frames.ts";

/** Something that a recording has, with where it is. */
export type Recorded =
  | { readonly kind: "exchange"; readonly at: number; readonly length: number; readonly exchange: RecordedExchange }
  /** The recording was stopped here, for this reason: what came after may be missing. */
  | { readonly kind: "stopped"; readonly reason: string };

/** What was found when a file was read to its end. */
export interface ReadResult {
  /** Behind the last whole frame; what follows is a part of one, or damaged. */
  readonly end: number;
}

/**
 * Reads what is whole of a recording, in its order, one frame at a time. What is damaged is left out. A file that goes on growing is read as far as it was at the
 * beginning. Returns where the last whole frame ends: 0 for a file that is no recording.
 */
export async function* readRecording(file: FileHandle): AsyncGenerator<Recorded, ReadResult> {
  if (!(await isRecording(file))) return { end: 0 };
  let end = FIRST_LINE.byteLength;
  for await (const place of framesOf(file)) {
    if (place.kind !== FRAME.data) {
      const content = await readFrame(file, place);
      // What comes behind a frame that is damaged may be whole.
      if (!content) continue;
      if (place.kind === FRAME.stopped) yield { kind: "stopped", reason: reasonOf(content) };
      else {
        const exchange = parseExchange(content, place.at);
        if (exchange) yield { kind: "exchange", at: place.at, length: place.length, exchange };
      }
    }
    end = place.at + FRAME_HEAD_BYTES + place.length;
  }
  return { end };
}

/** The exchange at a place that `readRecording` gave; undefined where it is no longer as it was written. */
export async function readExchange(file: FileHandle, at: number, length: number): Promise<RecordedExchange | undefined> {
  const content = await readFrame(file, { kind: FRAME.exchange, at, length });
  return content && parseExchange(content, at);
}

/** The content of a body, piece by piece. Throws where one is not as it was written. */
export async function* readBody(file: FileHandle, { pieces }: RecordedBody): AsyncGenerator<Buffer> {
  for (const [at, length] of pieces) {
    const content = await readFrame(file, { kind: FRAME.data, at, length });
    if (!content) throw new Error("a piece of a recorded body is damaged");
    yield content;
  }
}

const reasonOf = (content: Buffer): string => {
  const text = content.toString("utf8");
  return isStopReason(text) ? text : "disk";
};

/** Why a recording was stopped. `size` and `count`: it has as much as it may. `disk`: it could not be written. */
export type StopReason = "size" | "count" | "disk";
/** Why something is missing in a recording. `protocol`: something passed that no recording keeps, a WebSocket or HTTP/2; the recording goes on. */
export type IncompleteReason = StopReason | "protocol";
const isStopReason = (text: unknown): text is StopReason => text === "size" || text === "count" || text === "disk";
