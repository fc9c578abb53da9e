import { limitMet } from "../limit-met.ts";
import { type ReaderLimit, ReaderWatch } from "../reader-watch.ts";

/** Each is a process, which a slow client keeps for as long as it reads. */
const MAX_ARCHIVES = 8;
/** Milliseconds for which the reader of an export may take nothing. */
export const READER_LIMIT_MS = 60_000;

/** Counts the exports and imports of volumes that are under way. */
export class ArchiveCount {
  private count = 0;

  /** Returns what ends it, which may be called several times. Throws `resource_exhausted`, reason `too_many_archives`. */
  begin(): () => void {
    if (this.count >= MAX_ARCHIVES) {
      const advice = "exports and imports of volumes are under way; try again later";
      throw limitMet({ limit: "volumeArchives", value: MAX_ARCHIVES, of: "server", reason: "too_many_archives", advice });
    }
    this.count += 1;
    let ended = false;
    return () => {
      if (!ended) this.count -= 1;
      ended = true;
    };
  }
}

/** The same stream, which calls `end` when it has ended, however it does. A reader that takes nothing for longer than `limit` says is given up. */
export function whenEnded(stream: ReadableStream<Uint8Array>, end: () => void, limit: ReaderLimit): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let watch: ReaderWatch;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        watch = new ReaderWatch(limit, (error) => {
          end();
          controller.error(error);
          reader.cancel(error).catch(() => {});
        });
        watch.wait();
      },
      async pull(controller) {
        watch.stop();
        try {
          const { done, value } = await reader.read();
          if (!done) {
            watch.wait();
            return controller.enqueue(value);
          }
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel(reason) {
        watch.stop();
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
