import { read as readBytes } from "node:fs";
import { promisify } from "node:util";
import { AppError } from "@boxyard/core";
import type { ReadOptions, VolumeFile } from "@boxyard/driver";
import { statFd, TYPE, typeOf } from "../sys/at.ts";
import { close, O } from "../sys/libc.ts";
import { entryOf } from "./entries.ts";
import { openPath } from "./places.ts";
import { notAFile } from "./refusals.ts";

const CHUNK_BYTES = 256 * 1024;
const readAt = promisify(readBytes);

/** Opens a plain file for reading. Without waiting: a FIFO has no writer, and a device is of no use. */
export function openedFile(root: number, parts: readonly string[], { signal, start = 0, end }: ReadOptions): VolumeFile {
  const fd = openPath(root, parts, O.RDONLY | O.NONBLOCK);
  try {
    const stat = statFd(fd);
    if (typeOf(stat) !== TYPE.file) throw notAFile(parts.join("/"));
    const entry = entryOf(fd, parts);
    const last = Math.min(stat.size, end ?? stat.size);
    const lengthBytes = Math.max(0, last - start);
    return { entry, lengthBytes, stream: streamOf(new OpenFile(fd), { at: start, left: lengthBytes }, signal) };
  } catch (error) {
    close(fd);
    throw error;
  }
}

/** A descriptor that is closed once. */
class OpenFile {
  private readonly fd: number;
  private isClosed = false;

  constructor(fd: number) {
    this.fd = fd;
  }

  async read(bytes: number, at: number): Promise<Uint8Array<ArrayBuffer>> {
    const buffer = new Uint8Array(bytes);
    const { bytesRead } = await readAt(this.fd, buffer, 0, bytes, at);
    return buffer.subarray(0, bytesRead);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    close(this.fd);
  }
}

function streamOf(file: OpenFile, part: { at: number; left: number }, signal: AbortSignal): ReadableStream<Uint8Array> {
  let { at, left } = part;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          if (left > 0) {
            signal.throwIfAborted();
            const bytes = await file.read(Math.min(left, CHUNK_BYTES), at);
            if (bytes.length === 0) throw new AppError("aborted", "The file was cut while it was read", { reason: "file_changed" });
            at += bytes.length;
            left -= bytes.length;
            controller.enqueue(bytes);
          }
          if (left > 0) return;
          file.close();
          controller.close();
        } catch (error) {
          file.close();
          throw error;
        }
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}
