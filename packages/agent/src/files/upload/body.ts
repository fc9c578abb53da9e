import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import { BODY_IDLE } from "../../body/read-body.ts";
import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";

/*
 * The bytes of an upload, with a bound on the time without data. Memory stays constant: Bun reads from the connection only on demand.
 */

/** A supported coding of the body. */
export type BodyCoding = "identity" | "gzip";

/** The request's `Content-Encoding`. Throws 400 for an unsupported one. */
export function codingOf(headers: Headers): BodyCoding {
  const coding = (headers.get("Content-Encoding") ?? "").trim().toLowerCase();
  if (coding === "" || coding === "identity") return "identity";
  if (coding === "gzip" || coding === "x-gzip") return "gzip";
  throw httpFailure(400, `error decompressing request body: unsupported content encoding '${coding}', supported: gzip, identity`);
}

const silence = () =>
  new AppError("deadline_exceeded", `upload aborted: no data for ${LIMITS.uploadIdleMs / 1000} seconds`, { reason: BODY_IDLE });

/** Rejects when `moved` was not called for the idle time. `stop` ends the watch; a stopped watch never settles. */
export function idleWatch(clock: Clock, idleMs: number = LIMITS.uploadIdleMs) {
  const end = new AbortController();
  let at = clock.monotonic();
  const watch = async (): Promise<never> => {
    for (;;) {
      const left = at + idleMs - clock.monotonic();
      if (left <= 0) throw silence();
      await clock.sleep(left, end.signal);
    }
  };
  const expired = new Promise<never>((_, reject) => {
    watch().catch((error) => error instanceof AppError && reject(error));
  });
  // Callers that await it see the rejection; without one it must not count as unhandled.
  expired.catch(() => {});
  return {
    expired,
    moved() {
      at = clock.monotonic();
    },
    stop() {
      end.abort();
    },
  };
}

/** The body chunk by chunk. Throws after the idle time without data. An absent body is an empty one. */
export async function* chunksOf(body: ReadableStream<Uint8Array> | null, clock: Clock): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  const idle = idleWatch(clock);
  let failure: unknown;
  // Ends the pending read. (Promise.race for each chunk would keep every chunk in memory, through the promise that never settles.)
  idle.expired.catch((error) => {
    failure = error;
    reader.cancel(error).catch(() => {});
  });
  try {
    for (;;) {
      const next = await reader.read();
      if (failure !== undefined) throw failure;
      if (next.done) return;
      idle.moved();
      if (next.value.length > 0) yield next.value;
    }
  } finally {
    idle.stop();
    reader.cancel().catch(() => {});
  }
}

/** Decodes gzip as the bytes arrive, in constant memory. Throws 400 for anything that is not gzip. */
export async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [{ createGunzip }, { Readable, pipeline }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  let cause: unknown;
  // An error of the connection must not be reported as bad gzip.
  const watched = async function* () {
    try {
      yield* chunks;
    } catch (error) {
      cause = error;
      throw error;
    }
  };
  const source = Readable.from(watched(), { objectMode: true, highWaterMark: 1 });
  const inflate = createGunzip({ chunkSize: 64 * 1024 });
  pipeline(source, inflate, () => {});
  try {
    for await (const chunk of inflate) yield chunk as Uint8Array;
  } catch (error) {
    if (cause !== undefined) throw cause;
    throw httpFailure(400, "error decompressing request body: not valid gzip", error);
  } finally {
    source.destroy();
    inflate.destroy();
  }
}
