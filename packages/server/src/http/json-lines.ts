import { type Clock, later, systemClock } from "@boxyard/core";

/** A line is sent at least so often, an empty one if there is no event, so that neither clients nor proxies take the connection for dead. */
const BEAT_MS = 10_000;

/** Work that reports its progress by `report`, and resolves with the last event; must not reject. */
export type ReportingWork<E> = (report: (event: E) => void, signal: AbortSignal) => Promise<E>;

/**
 * An answer of JSON lines: the events of `work`, and at last its result. When a client reads more slowly than events come, only the newest
 * event is kept for it, so a slow client costs no memory. `work` begins when the answer is read, and is aborted when the client leaves.
 */
export function jsonLines<E extends object>(work: ReportingWork<E>, signal: AbortSignal, clock: Clock = systemClock): Response {
  const left = new AbortController();
  let running: Promise<void> | undefined;
  let changed = Promise.withResolvers<void>();
  let newest: E | undefined;
  let last: E | undefined;
  const report = (event: E) => {
    newest = event;
    changed.resolve();
  };
  const begin = async () => {
    last = await work(report, AbortSignal.any([signal, left.signal]));
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    running ??= begin();
    if (last === undefined) await withinBeat(Promise.race([running, changed.promise]), clock);
    changed = Promise.withResolvers();
    const event = last ?? newest;
    newest = undefined;
    controller.enqueue(new TextEncoder().encode(event === undefined ? "\n" : `${JSON.stringify(event)}\n`));
    if (event !== undefined && event === last) controller.close();
  };
  const body = new ReadableStream<Uint8Array>({ pull, cancel: (reason) => left.abort(reason) }, { highWaterMark: 0 });
  return new Response(body, { headers: { "Content-Type": "application/x-ndjson", "Cache-Control": "no-store" } });
}

async function withinBeat(promise: Promise<void>, clock: Clock): Promise<void> {
  const beat = Promise.withResolvers<void>();
  const cancel = later(BEAT_MS, beat.resolve, clock);
  await Promise.race([promise, beat.promise]).finally(cancel);
}
