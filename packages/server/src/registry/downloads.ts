import { existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, isAppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/errno";
import type { Descriptor } from "./manifest.ts";
import type { BlobFile, FetchOptions } from "./source.ts";

/** Attempts in a row that bring nothing before we give up. */
const MAX_IDLE_ATTEMPTS = 4;
const RETRY_MS = 500;
const STALL_MS = 60_000;

/** The rest that was asked for cannot be had: begin anew. */
export class NotResumable extends Error {}

/** Opens a blob from byte `from` on; `start` says where what comes begins. */
export type OpenBlob = (from: number, signal: AbortSignal) => Promise<{ start: number; body: ReadableStream<Uint8Array> }>;

/**
 * Blobs on their way to this machine, as files of a directory. A download that broke off goes on where it was, also after a restart; what
 * `fetch` gives has the right digest. Two that want the same blob share one download.
 */
export class Downloads {
  private readonly directory: string;
  private readonly running = new Map<string, { users: number; done: Promise<string> }>();

  constructor(directory: string) {
    this.directory = directory;
  }

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
      // The part that came stays for the next attempt.
      leave();
      options.signal.throwIfAborted();
      // The one that we shared was given up by its owner: ours goes on.
      if (have && !isAppError(error)) return this.fetch(descriptor, options, open);
      throw error;
    }
  }

  /** Removes what nobody has come back for. */
  removeOld(maxAgeMs: number): void {
    if (!existsSync(this.directory)) return;
    for (const name of readdirSync(this.directory)) {
      const path = join(this.directory, name);
      const inUse = [...this.running.keys()].some((digest) => name.startsWith(digest.slice(7)));
      if (!inUse && Date.now() - statSync(path).mtimeMs > maxAgeMs) rmSync(path, { recursive: true, force: true });
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
        // What came is of no use where there is no room for the rest, and others need that room.
        if (isAppError(error, "disk_full")) rmSync(part, { force: true });
        if (error instanceof NotResumable) truncateSync(part);
        else if (!isRetryable(error)) throw error;
        idle = progress.bytes > before ? 0 : idle + 1;
        if (idle === MAX_IDLE_ATTEMPTS) throw error;
        await sleep(RETRY_MS * 2 ** idle, undefined, { signal: options.signal });
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
      throw new AppError("data_loss", `What was sent for ${digest} is ${actual}`, { reason: "bad_digest" });
    } finally {
      await file.close();
    }
  }

  /** Brings what is missing from byte `from` on. Throws when not all of it came; then nothing of this attempt counts for `onBytes`. */
  private async receive(
    file: FileHandle,
    from: number,
    size: number,
    options: FetchOptions,
    openBlob: OpenBlob,
    progress: { bytes: number },
  ): Promise<void> {
    const stall = new AbortController();
    let timer = setTimeout(() => stall.abort(), STALL_MS);
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
        clearTimeout(timer);
        timer = setTimeout(() => stall.abort(), STALL_MS);
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
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A disk that has no room is not tried again: the owner of the build should know at once. One that fails may do better. */
async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    if (errno === "ENOSPC" || errno === "EDQUOT") {
      const message = "The server's disk has no room for the image's layers on their way; make some and build again";
      throw new AppError("resource_exhausted", message, { reason: "disk_full", cause });
    }
    throw new AppError("unavailable", `The server's disk takes no layers now (${errno})`, { reason: "disk_failed", cause });
  }
}

/** Everything but what the registry or we have said in so many words. */
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
