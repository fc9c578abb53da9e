import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import { BODY_IDLE } from "../../body/read-body.ts";
import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";

/*
 * The bytes of an upload, with a bound on silence. Memory stays constant: Bun stops reading from the connection while we don't ask.
 */

/** A coding of the body that we undo. */
export type BodyCoding = "identity" | "gzip";

/** The request's `Content-Encoding`. Throws 400 for one that we don't know. */
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
  // A caller that races against it sees the failure; alone it must not count as unhandled.
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

/** The body chunk by chunk; gives up after the idle time. An absent body is an empty one. */
export async function* chunksOf(body: ReadableStream<Uint8Array> | null, clock: Clock): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  const idle = idleWatch(clock);
  let failure: unknown;
  // Ends the read that waits. (A race for each chunk would keep every chunk: its outcome hangs on the promise that never settles.)
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

/** Undoes gzip as the bytes come. A bomb costs disk, which has limits, and never memory. Throws 400 for anything that is not gzip. */
export async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const [{ createGunzip }, { Readable, pipeline }] = await Promise.all([import("node:zlib"), import("node:stream")]);
  let cause: unknown;
  // A failure of the connection must come out as itself and not as bad gzip.
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
