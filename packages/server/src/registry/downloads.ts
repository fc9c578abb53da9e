import { existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, isAppError, systemClock, TimeLimit } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/errno";
import type { Descriptor } from "./manifest.ts";
import type { BlobFile, FetchOptions } from "./source.ts";

/** A download fails after so many attempts in a row that got no bytes. */
const MAX_IDLE_ATTEMPTS = 4;
const RETRY_MS = 500;
const STALL_MS = 60_000;

/** The registry cannot send the blob from the byte that was asked for: the download begins anew. */
export class NotResumable extends Error {}

/** Opens a blob from byte `from` on. `start`: the byte at which `body` really begins. */
export type OpenBlob = (from: number, signal: AbortSignal) => Promise<{ start: number; body: ReadableStream<Uint8Array> }>;

/**
 * Downloads of blobs, as files of a directory. An interrupted download goes on at the byte that it has reached, also after a restart of the server.
 * Concurrent fetches of the same blob share one download.
 */
export class Downloads {
  private readonly directory: string;
  private readonly clock: Clock;
  private readonly running = new Map<string, { users: number; done: Promise<string> }>();

  constructor(directory: string, clock: Clock = systemClock) {
    this.directory = directory;
    this.clock = clock;
  }

  /**
   * Downloads a blob, and checks its digest. The file is removed when the last user disposes of it. Throws `data_loss` (`bad_digest`),
   * `resource_exhausted` (`disk_full`), `unavailable`, and what `open` throws.
   */
  async fetch(descriptor: Descriptor, options: FetchOptions, open: OpenBlob): Promise<BlobFile> {
    const { digest } = descriptor;
    const have = this.running.get(digest);
    const entry = have ?? { users: 0, done: this.download(descriptor, options, open) };
    this.running.set(digest, entry);
    entry.users++;
    const leave = () => {
      entry.users--;
      const last = entry.users === 0 && this.running.get(digest) === entry;
      if (last) this.running.delete(digest);
      return last;
    };
    try {
      const path = await entry.done;
      return {
        path,
        [Symbol.asyncDispose]: async () => {
          if (leave()) rmSync(path, { force: true });
        },
      };
    } catch (error) {
      // The partial file stays for the next attempt.
      leave();
      options.signal.throwIfAborted();
      // The fetch that began the shared download was cancelled: this one begins its own.
      if (have && !isAppError(error)) return this.fetch(descriptor, options, open);
      throw error;
    }
  }

  /** Removes files that nobody fetches and that were last written more than `maxAgeMs` ago. */
  removeOld(maxAgeMs: number): void {
    if (!existsSync(this.directory)) return;
    for (const name of readdirSync(this.directory)) {
      const path = join(this.directory, name);
      const inUse = [...this.running.keys()].some((digest) => name.startsWith(digest.slice(7)));
      if (!inUse && this.clock.now() - statSync(path).mtimeMs > maxAgeMs) rmSync(path, { recursive: true, force: true });
    }
  }

  private pathOf(digest: string): string {
    return join(this.directory, `${digest.slice(7)}.part`);
  }

  private async download(descriptor: Descriptor, options: FetchOptions, open: OpenBlob): Promise<string> {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const part = this.pathOf(descriptor.digest);
    const progress = { bytes: 0 };
    for (let idle = 0; ; ) {
      const before = progress.bytes;
      try {
        await this.attempt(part, descriptor, options, open, progress);
        return part;
      } catch (error) {
        if (options.signal.aborted) throw options.signal.reason;
        // The partial file only takes room on a full disk.
        if (isAppError(error, "disk_full")) rmSync(part, { force: true });
        if (error instanceof NotResumable) truncateSync(part);
        else if (!isRetryable(error)) throw error;
        idle = progress.bytes > before ? 0 : idle + 1;
        if (idle === MAX_IDLE_ATTEMPTS) throw error;
        await this.clock.sleep(RETRY_MS * 2 ** idle, options.signal);
      }
    }
  }

  private async attempt(
    part: string,
    descriptor: Descriptor,
    options: FetchOptions,
    openBlob: OpenBlob,
    progress: { bytes: number },
  ): Promise<void> {
    const { size, digest } = descriptor;
    const file = await onDisk(open(part, "a+", 0o600));
    try {
      let { size: have } = await file.stat();
      if (have > size) {
        await file.truncate(0);
        have = 0;
      }
      if (have < size) await this.receive(file, have, size, options, openBlob, progress);
      else options.onBytes?.(size);
      const actual = await onDisk(digestOf(file, options.signal));
      if (actual === digest) return;
      await file.truncate(0);
      options.onBytes?.(-size);
      throw new AppError("data_loss", `The registry sent ${actual} for ${digest}`, { reason: "bad_digest" });
    } finally {
      await file.close();
    }
  }

  /** Downloads the bytes from `from` on. Throws when some are missing; then `onBytes` is told to subtract the bytes of this attempt. */
  private async receive(
    file: FileHandle,
    from: number,
    size: number,
    options: FetchOptions,
    openBlob: OpenBlob,
    progress: { bytes: number },
  ): Promise<void> {
    using stall = new TimeLimit(STALL_MS, this.clock);
    let at = from;
    let told = 0;
    const tell = (bytes: number) => {
      told += bytes;
      options.onBytes?.(bytes);
    };
    try {
      const { start, body } = await openBlob(from, AbortSignal.any([options.signal, stall.signal]));
      if (start !== from) {
        if (start !== 0) throw new NotResumable();
        await file.truncate(0);
        at = 0;
      } else tell(from);
      for await (const piece of body) {
        stall.renew();
        if (at + piece.length > size) throw new AppError("data_loss", "The registry sent more than it said", { reason: "bad_digest" });
        await onDisk(file.appendFile(piece));
        at += piece.length;
        progress.bytes += piece.length;
        tell(piece.length);
      }
      if (at < size) throw new AppError("unavailable", "The registry's answer broke off", { reason: "registry_unreachable" });
    } catch (error) {
      tell(-told);
      throw error;
    }
  }
}

/** Translates errors of the disk. A full disk is `resource_exhausted`, which is not tried again, so that the build fails at once; others are `unavailable`. */
async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    if (errno === "ENOSPC" || errno === "EDQUOT") {
      const message = "The server's disk has no room for the download of the image's layers; make room and build again";
      throw new AppError("resource_exhausted", message, { reason: "disk_full", cause });
    }
    throw new AppError("unavailable", `The server's disk does not take the image's layers now (${errno})`, {
      reason: "disk_failed",
      cause,
    });
  }
}

/** Errors of the network and of unknown cause are tried again; of ours, only `unavailable`. */
const isRetryable = (error: unknown): boolean => !isAppError(error) || error.code === "unavailable";

async function digestOf(file: FileHandle, signal: AbortSignal): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const buffer = Buffer.alloc(1 << 20);
  for (let at = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return `sha256:${hash.digest("hex")}`;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
