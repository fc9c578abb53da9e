import { AppError } from "@boxyard/core";
import { ENVELOPE_HEADER_BYTES, envelopeLength, FLAG_COMPRESSED } from "@boxyard/spec";
import { type BodyRules, ChunkReader } from "../body/read-body.ts";

/**
 * Yields the messages of a body as its chunks arrive. Refuses compression, unknown flags, messages above `maxBytes` (before reading them), and a body
 * that ends within an envelope. Bytes in memory are claimed, also those of the last message until the next one is requested; the caller releases the
 * claim. Between messages there is no bound on time, except with `one`, where the first message must begin within `idleMs`.
 */
export async function* readEnvelopes(
  body: ReadableStream<Uint8Array> | null,
  rules: BodyRules,
  kind: "one" | "many" = "many",
): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const parts = new Parts();
  const chunks = new ChunkReader(body, rules);
  try {
    for (;;) {
      const message = takeMessage(parts, rules.maxBytes);
      if (message) {
        yield message;
        await rules.claim.hold(parts.length);
        continue;
      }
      await rules.claim.hold(Math.max(parts.length, wholeBytes(parts)));
      const chunk = await (parts.length === 0 && kind === "many" ? chunks.begin() : chunks.next());
      if (!chunk) break;
      parts.add(chunk);
    }
  } finally {
    chunks.end();
  }
  if (parts.length > 0) throw endedWithin();
}

/** The first message of a complete body; undefined for an empty body. Refuses what `readEnvelopes` refuses. */
export function onlyEnvelope(body: Uint8Array, maxBytes: number): Uint8Array | undefined {
  if (body.length === 0) return undefined;
  const parts = new Parts();
  parts.add(body);
  const message = takeMessage(parts, maxBytes);
  if (!message) throw endedWithin();
  return message;
}

function endedWithin(): AppError {
  return new AppError("invalid_argument", "the stream ended within an envelope", { reason: "bad_envelope" });
}

/** Size of the envelope that has begun; 0 until its header is complete. */
function wholeBytes(parts: Parts): number {
  const header = parts.peek(ENVELOPE_HEADER_BYTES);
  return header ? ENVELOPE_HEADER_BYTES + envelopeLength(header) : 0;
}

function takeMessage(parts: Parts, maxBytes: number): Uint8Array | undefined {
  const header = parts.peek(ENVELOPE_HEADER_BYTES);
  if (!header) return undefined;
  const flags = header[0] ?? 0;
  if (flags & FLAG_COMPRESSED) throw new AppError("unimplemented", "compressed messages are not supported", { reason: "compressed" });
  if (flags !== 0) throw new AppError("invalid_argument", `an envelope has unknown flags ${flags}`, { reason: "bad_envelope" });
  const length = envelopeLength(header);
  if (length > maxBytes) {
    throw new AppError("resource_exhausted", `a message of ${length} bytes is more than the limit of ${maxBytes}`, { reason: "too_large" });
  }
  if (parts.length < ENVELOPE_HEADER_BYTES + length) return undefined;
  parts.take(ENVELOPE_HEADER_BYTES);
  return parts.take(length);
}

/** A queue of chunks. Only the bytes that a call returns are joined. */
class Parts {
  private chunks: Uint8Array[] = [];
  length = 0;

  add(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  /** The next `count` bytes without taking them; undefined when there are fewer. */
  peek(count: number): Uint8Array | undefined {
    if (this.length < count) return undefined;
    const first = this.chunks[0];
    if (first && first.length >= count) return first.subarray(0, count);
    const joined = this.take(count);
    this.chunks.unshift(joined);
    this.length += count;
    return joined;
  }

  take(count: number): Uint8Array {
    const first = this.chunks[0];
    this.length -= count;
    if (first && first.length > count) {
      this.chunks[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const taken = new Uint8Array(count);
    let filled = 0;
    let used = 0;
    for (const chunk of this.chunks) {
      if (filled === count) break;
      const part = chunk.subarray(0, count - filled);
      taken.set(part, filled);
      filled += part.length;
      if (part.length === chunk.length) used++;
      else this.chunks[used] = chunk.subarray(part.length);
    }
    this.chunks.splice(0, used);
    return taken;
  }
}
