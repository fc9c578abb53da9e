import { sleep } from "../connection/api-client.ts";
import type { RequestScope } from "../connection/request-scope.ts";
import { AbortError, ConnectionError, NotFoundError, TimeoutError } from "../errors.ts";
import type { FileData, WriteInfo } from "./file-types.ts";
import type { PartSize } from "./part-size.ts";

/** Progress of an upload. */
export interface UploadProgress {
  /** Bytes that the sandbox has received. */
  readonly sentBytes: number;
  /** Undefined if the data is a stream. */
  readonly totalBytes: number | undefined;
}

/** From this size on data goes in parts; below it one request is quicker. */
export const PARTS_FROM_BYTES = 16 << 20;
/** The same for an upload whose caller wants to see the progress. */
export const WATCHED_PARTS_FROM_BYTES = 512 << 10;
const PARTS_AT_ONCE = 4;
const TRIES = 3;
const FIRST_WAIT_MS = 200;
/** Within this time the agent has handled what it received of an abandoned request. */
const ARRIVAL_MS = 500;
/** For a part, where the caller gives no limit. They are made to take about a second. */
export const PART_TIMEOUT_MS = 600_000;

type Part = Blob | Uint8Array<ArrayBuffer>;

/** What an upload in parts needs of the sandbox. */
export interface PartTarget {
  put(path: string, data: Part, signal: AbortSignal): Promise<unknown>;
  join(parts: readonly string[], signal: AbortSignal): Promise<WriteInfo>;
  /** Removes the directory of the parts, whatever is in it; there may be none. */
  remove(directory: string): Promise<unknown>;
}

/** Data to upload; texts are bytes already, so that every size is one of bytes. */
export type UploadData = Exclude<FileData, string>;

/** The data to upload for what a caller gave. */
export const uploadData = (data: FileData): UploadData => (typeof data === "string" ? new TextEncoder().encode(data) : data);

/** Size in bytes of data that is in memory; undefined of a stream. */
export function sizeOf(data: UploadData): number | undefined {
  if (data instanceof ReadableStream) return undefined;
  return data instanceof Blob ? data.size : data.byteLength;
}

/** The data in pieces of these sizes; pieces of a stream are collected first, the others are views. */
export async function* partsOf(data: UploadData, sizes: PartSize, signal: AbortSignal): AsyncGenerator<Part, void, undefined> {
  if (data instanceof ReadableStream) return yield* partsOfStream(data, sizes, signal);
  if (data instanceof Blob) return yield* slices(data.size, sizes, (from, to) => data.slice(from, to));
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  yield* slices(bytes.length, sizes, (from, to) => bytes.subarray(from, to));
}

function* slices(length: number, sizes: PartSize, slice: (from: number, to: number) => Part): Generator<Part, void, undefined> {
  for (let at = 0; at < length; ) {
    const end = at + sizes.next();
    yield slice(at, end);
    at = end;
  }
}

/** An abort ends the parts as the stream's end does; the caller must check the signal. */
async function* partsOfStream(
  stream: ReadableStream<Uint8Array>,
  sizes: PartSize,
  signal: AbortSignal,
): AsyncGenerator<Part, void, undefined> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  let ended = false;
  try {
    let part = new Uint8Array(sizes.next());
    let filled = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      for (let chunk = next.value; chunk.length > 0; ) {
        const taken = chunk.subarray(0, part.length - filled);
        part.set(taken, filled);
        filled += taken.length;
        chunk = chunk.subarray(taken.length);
        if (filled < part.length) continue;
        yield part;
        part = new Uint8Array(sizes.next());
        filled = 0;
      }
    }
    ended = true;
    if (filled > 0) yield part.subarray(0, filled);
  } finally {
    signal.removeEventListener("abort", cancel);
    if (!ended) cancel();
  }
}

/** The first part; and, if there are more, all of them as one iterator. */
export async function startOf(parts: AsyncIterator<Part>): Promise<[first: Part | undefined, all: AsyncIterator<Part> | undefined]> {
  const first = await parts.next();
  if (first.done) return [undefined, undefined];
  const second = await parts.next();
  if (second.done) return [first.value, undefined];
  return [first.value, joined([first.value, second.value], parts)];
}

async function* joined(start: readonly Part[], rest: AsyncIterator<Part>): AsyncGenerator<Part, void, undefined> {
  yield* start;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/**
 * Uploads parts side by side into a directory beside the destination, then joins them. The destination changes at once and only at the end;
 * whatever fails, the directory is removed. A part whose connection fails is sent again.
 */
export async function uploadInParts(
  target: PartTarget,
  directory: string,
  parts: AsyncIterator<Part>,
  sizes: PartSize,
  onSent: (bytes: number) => void | Promise<void>,
  scope: RequestScope,
): Promise<WriteInfo> {
  const paths: string[] = [];
  // Several workers take from one iterator: a generator queues their calls, so that numbers follow the order of the data.
  let count = 0;
  let isAnyGivenUp = false;
  const onGivenUp = () => {
    isAnyGivenUp = true;
  };
  const put = async (part: Part, shares: number) => {
    const bytes = part instanceof Blob ? part.size : part.length;
    const index = count++;
    const startedAt = performance.now();
    paths[index] = await putRepeatedly(target, `${directory}/${index}`, part, scope, onGivenUp);
    sizes.took(bytes, (performance.now() - startedAt) * shares);
    await onSent(bytes);
  };
  const work = async () => {
    for (let next = await parts.next(); !next.done; next = await parts.next()) await put(next.value, 1);
  };
  const stopping = (error: unknown) => {
    scope.abort();
    throw error;
  };
  let workers: Promise<void>[] = [];
  try {
    // The first part goes alone and measures the speed of the link, which the later parts share.
    const first = await parts.next();
    if (!first.done) await put(first.value, PARTS_AT_ONCE);
    workers = Array.from({ length: PARTS_AT_ONCE }, () => work().catch(stopping));
    await Promise.all(workers);
    scope.throwIfEnded();
    return await target.join(paths, scope.signal);
  } finally {
    await Promise.allSettled(workers);
    if ((await cleanUp(target, directory)) && isAnyGivenUp) {
      // Such a part may have made the directory again, after it was removed.
      await sleep(ARRIVAL_MS);
      await cleanUp(target, directory);
    }
  }
}

/** Removes the directory; false when that failed. Never throws, so that the caller gets the first failure. */
async function cleanUp(target: PartTarget, directory: string): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    try {
      await target.remove(directory);
      return true;
    } catch (error) {
      // Where a first part was refused there is no directory yet.
      if (error instanceof NotFoundError) return true;
      if (!(error instanceof ConnectionError) || attempt + 1 >= TRIES) return false;
      await sleep(FIRST_WAIT_MS * 2 ** attempt);
    }
  }
}

/** True when the agent may still be working on the request; any other error is an answer. */
const isGivenUp = (error: unknown): boolean =>
  error instanceof ConnectionError || error instanceof TimeoutError || error instanceof AbortError;

/** Each try has a name of its own: an earlier one may still be arriving. */
async function putRepeatedly(target: PartTarget, path: string, data: Part, scope: RequestScope, onGivenUp: () => void): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const name = `${path}.${attempt}`;
    try {
      await target.put(name, data, scope.signal);
      return name;
    } catch (error) {
      if (isGivenUp(error)) onGivenUp();
      if (!(error instanceof ConnectionError) || attempt + 1 >= TRIES) throw error;
      await sleep(FIRST_WAIT_MS * 2 ** attempt, scope.signal);
    }
  }
}
