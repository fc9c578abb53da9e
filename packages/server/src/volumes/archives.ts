import { AppError } from "@boxyard/core";

/** Each is a process, which a slow client keeps for as long as it reads. */
const MAX_ARCHIVES = 8;

/** Counts the exports and imports of volumes that are under way. */
export class ArchiveCount {
  private count = 0;

  /** Returns what ends it, which may be called several times. Throws `resource_exhausted`, reason `too_many_archives`. */
  begin(): () => void {
    if (this.count >= MAX_ARCHIVES) {
      throw new AppError("resource_exhausted", `${MAX_ARCHIVES} archives of volumes are being read or written already; try again later`, {
        reason: "too_many_archives",
      });
    }
    this.count += 1;
    let ended = false;
    return () => {
      if (!ended) this.count -= 1;
      ended = true;
    };
  }
}

/** The same stream, which calls `end` when it has ended, however it does. */
export function whenEnded(stream: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
