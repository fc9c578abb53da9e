import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, type TeamId } from "@boxyard/core";

/** How long an upload's address is good (wire.md 5.3). */
const LINK_MS = 3600_000;
/** Files that no build has asked for in this time go. */
const KEEP_MS = 14 * 24 * 3600_000;
export const MAX_UPLOAD_BYTES = 8 * 2 ** 30;
const MAX_UPLOADS_AT_ONCE = 64;
/** Path below which uploads are taken, on the one port. */
export const UPLOAD_PATH = "/build-files/";
const HASH = /^[0-9a-f]{64}$/;

export function checkHash(hash: string, field: string): string {
  if (!HASH.test(hash))
    throw new AppError("invalid_argument", `${field}: must be 64 hexadecimal digits, in lower case`, { reason: "bad_hash" });
  return hash;
}

/** Archives of files that COPY steps use, in a folder per team, by the client's hash of them; that hash is never checked (wire.md 5.4). */
export class Uploads {
  private readonly folder: string;
  private readonly clock: Clock;
  private readonly seed: string;
  private atOnce = 0;

  constructor(folder: string, clock: Clock, seed: string) {
    this.folder = folder;
    this.clock = clock;
    this.seed = seed;
  }

  path(teamId: TeamId, hash: string): string {
    return join(this.folder, teamId, `${hash}.tar`);
  }

  has(teamId: TeamId, hash: string): boolean {
    return existsSync(this.path(teamId, hash));
  }

  /** Path and query of an address that takes one team's upload under one hash, for an hour. */
  link(teamId: TeamId, hash: string): string {
    const until = this.clock.now() + LINK_MS;
    return `${UPLOAD_PATH}${teamId}/${hash}?until=${until}&signature=${this.sign(teamId, hash, until)}`;
  }

  /** What an address means. Throws `unauthenticated` unless it is one of `link`'s that is still good. */
  verify(target: string): { teamId: TeamId; hash: string } {
    const { pathname, searchParams } = new URL(target, "http://localhost");
    const [, teamId = "", hash = ""] = /^\/build-files\/([0-9a-f-]{36})\/([0-9a-f]{64})$/.exec(pathname) ?? [];
    const until = Number(searchParams.get("until"));
    const given = Buffer.from(searchParams.get("signature") ?? "");
    const wanted = Buffer.from(this.sign(teamId, hash, until));
    const fits = given.byteLength === wanted.byteLength && timingSafeEqual(given, wanted);
    if (!fits) throw new AppError("unauthenticated", "The signature of this upload's address does not fit", { reason: "bad_signature" });
    if (until < this.clock.now()) {
      throw new AppError("unauthenticated", "This upload's address has expired; ask for a new one", { reason: "link_expired" });
    }
    return { teamId: teamId as TeamId, hash };
  }

  /** Takes an upload of `length` bytes. The file is there when `finish` has resolved, whole or not at all. */
  async receive(teamId: TeamId, hash: string): Promise<Upload> {
    if (this.atOnce >= MAX_UPLOADS_AT_ONCE) {
      throw new AppError("resource_exhausted", "Too many uploads at once; try again in a moment", {
        reason: "too_many_uploads",
        details: { retryAfter: 1 },
      });
    }
    this.atOnce += 1;
    try {
      await mkdir(join(this.folder, teamId), { recursive: true, mode: 0o700 });
      const part = join(this.folder, teamId, `${hash}.${randomBytes(8).toString("hex")}.part`);
      return new Upload(await open(part, "wx", 0o600), part, this.path(teamId, hash), () => {
        this.atOnce -= 1;
      });
    } catch (error) {
      this.atOnce -= 1;
      throw error;
    }
  }

  /** Lends a file of its own for something on its way from one sandbox to another; it is gone when `use` is done. */
  async withPart<T>(teamId: TeamId, use: (path: string) => Promise<T>): Promise<T> {
    await mkdir(join(this.folder, teamId), { recursive: true, mode: 0o700 });
    const path = join(this.folder, teamId, `${randomBytes(8).toString("hex")}.part`);
    try {
      return await use(path);
    } finally {
      await rm(path, { force: true });
    }
  }

  /** A build uses these files; they are kept for a while longer. */
  async touch(teamId: TeamId, hash: string): Promise<void> {
    const now = this.clock.now() / 1000;
    await utimes(this.path(teamId, hash), now, now).catch(() => {});
  }

  /** Removes files that were not used for long, and parts that an earlier server has left. Call it at start and now and then. */
  async prune(): Promise<void> {
    for (const team of await readdir(this.folder).catch(() => [])) {
      for (const name of await readdir(join(this.folder, team)).catch(() => [])) {
        const path = join(this.folder, team, name);
        const age = this.clock.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY);
        if (age > (name.endsWith(".part") ? LINK_MS * 2 : KEEP_MS)) await rm(path, { force: true });
      }
    }
  }

  private sign(teamId: string, hash: string, until: number): string {
    return createHmac("sha256", this.seed).update(`upload:${teamId}:${hash}:${until}`).digest("base64url");
  }
}

/** A file on its way. */
export class Upload {
  private readonly file: FileHandle;
  private readonly part: string;
  private readonly target: string;
  private readonly onClosed: () => void;
  private closed = false;

  constructor(file: FileHandle, part: string, target: string, onClosed: () => void) {
    this.file = file;
    this.part = part;
    this.target = target;
    this.onClosed = onClosed;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength; ) at += (await this.file.write(bytes, at)).bytesWritten;
  }

  async finish(): Promise<void> {
    await this.file.datasync();
    await rename(this.part, this.target);
    await this.close();
  }

  /** Repeatable; after `finish` it does nothing. */
  async discard(): Promise<void> {
    if (this.closed) return;
    await this.close();
    await rm(this.part, { force: true });
  }

  private async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.onClosed();
    await this.file.close();
  }
}
