import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, type TeamId } from "@boxyard/core";
import { limitMet } from "../../limit-met.ts";

/** How long an upload's address is valid (docs/contract/templates.md). */
const LINK_MS = 3600_000;
/** Files are removed when no build has used them for this time. */
const KEEP_MS = 14 * 24 * 3600_000;
export const MAX_UPLOAD_BYTES = 8 * 2 ** 30;
const MAX_UPLOADS_AT_ONCE = 64;
/** Files with a use within this time are not removed for a new upload: their build may be about to begin. */
const RECENT_MS = 3600_000;
/** Path prefix of uploads, on the server's one port. */
export const UPLOAD_PATH = "/build-files/";
const HASH = /^[0-9a-f]{64}$/;

/** Throws `invalid_argument`, whose message begins with `field`, unless the text is a SHA-256 in hex. */
export function checkHash(hash: string, field: string): string {
  if (!HASH.test(hash))
    throw new AppError("invalid_argument", `${field}: must be 64 hexadecimal digits, in lower case`, { reason: "bad_hash" });
  return hash;
}

export interface UploadsOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** Secret that addresses are signed with. */
  readonly seed: string;
  /** Most bytes of one team's files together. */
  readonly maxTeamBytes: number;
}

/** Archives of files for COPY steps, in a directory per team, under the client's hash. The hash is never checked (docs/contract/templates.md, Copying). */
export class Uploads {
  private readonly directory: string;
  private readonly clock: Clock;
  private readonly seed: string;
  private readonly maxTeamBytes: number;
  /** Files that are being written, each with its announced length. */
  private readonly parts = new Map<string, { readonly teamId: TeamId; readonly bytes: number }>();

  constructor({ directory, clock, seed, maxTeamBytes }: UploadsOptions) {
    this.directory = directory;
    this.clock = clock;
    this.seed = seed;
    this.maxTeamBytes = maxTeamBytes;
  }

  path(teamId: TeamId, hash: string): string {
    return join(this.directory, teamId, `${hash}.tar`);
  }

  has(teamId: TeamId, hash: string): boolean {
    return existsSync(this.path(teamId, hash));
  }

  /** Path and query of an address that accepts one team's upload under one hash, for an hour. */
  link(teamId: TeamId, hash: string): string {
    const until = this.clock.now() + LINK_MS;
    return `${UPLOAD_PATH}${teamId}/${hash}?until=${until}&signature=${this.sign(teamId, hash, until)}`;
  }

  /** Parses an address. Throws `unauthenticated` unless `link` has made it and it is still valid. */
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

  /**
   * Begins an upload of `length` bytes. The file exists when `finish` has resolved, whole or not at all. To make room, the files that were used
   * longest ago are removed. Throws `resource_exhausted`, reasons `too_many_uploads` and `build_files_full`.
   */
  async receive(teamId: TeamId, hash: string, length: number): Promise<Upload> {
    if (length > this.maxTeamBytes) {
      throw full(`The upload has ${mib(length)}, and all files of your builds together may have ${mib(this.maxTeamBytes)}`);
    }
    if (this.parts.size >= MAX_UPLOADS_AT_ONCE) {
      const advice = "try again in a moment";
      throw limitMet({ limit: "uploads", value: MAX_UPLOADS_AT_ONCE, of: "server", reason: "too_many_uploads", advice });
    }
    const part = join(this.directory, teamId, `${hash}.${randomBytes(8).toString("hex")}.part`);
    this.parts.set(part, { teamId, bytes: length });
    try {
      await mkdir(join(this.directory, teamId), { recursive: true, mode: 0o700 });
      await this.makeRoom(teamId);
      return new Upload(await open(part, "wx", 0o600), part, this.path(teamId, hash), () => this.parts.delete(part));
    } catch (error) {
      this.parts.delete(part);
      throw error;
    }
  }

  /** Passes `use` the path of a new file, for content in transit from one sandbox to another. The file is removed when `use` has ended. */
  async withPart<T>(teamId: TeamId, use: (path: string) => Promise<T>): Promise<T> {
    await mkdir(join(this.directory, teamId), { recursive: true, mode: 0o700 });
    const path = join(this.directory, teamId, `${randomBytes(8).toString("hex")}.part`);
    this.parts.set(path, { teamId, bytes: 0 });
    try {
      return await use(path);
    } finally {
      await rm(path, { force: true });
      this.parts.delete(path);
    }
  }

  /** Notes the use of a file by a build, which extends the time that the file is kept. */
  async touch(teamId: TeamId, hash: string): Promise<void> {
    const now = this.clock.now() / 1000;
    await utimes(this.path(teamId, hash), now, now).catch(() => {});
  }

  /** Removes files that were not used for two weeks, and partial files of an earlier server. To be called at the start and from time to time. */
  async prune(): Promise<void> {
    for (const team of await readdir(this.directory).catch(() => [])) {
      for (const name of await readdir(join(this.directory, team)).catch(() => [])) {
        const path = join(this.directory, team, name);
        const age = this.clock.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY);
        const isLeft = name.endsWith(".part") && !this.parts.has(path);
        if (isLeft || age > KEEP_MS) await rm(path, { force: true });
      }
    }
  }

  /** Removes the team's files, oldest use first, until the announced uploads fit. */
  private async makeRoom(teamId: TeamId): Promise<void> {
    const kept = await this.filesOf(teamId);
    const coming = [...this.parts.values()].filter((part) => part.teamId === teamId);
    let left = this.maxTeamBytes - sumOf(kept) - sumOf(coming);
    const before = this.clock.now() - RECENT_MS;
    for (const { path, usedAt, bytes } of kept.sort((a, b) => a.usedAt - b.usedAt)) {
      if (left >= 0 || usedAt > before) break;
      await rm(path, { force: true });
      left += bytes;
    }
    if (left >= 0) return;
    const [used, most] = [mib(sumOf(kept)), mib(this.maxTeamBytes)];
    throw full(`The files of your builds take ${used} of ${most}, all used within the last hour; try again later`);
  }

  private async filesOf(teamId: TeamId): Promise<{ path: string; usedAt: number; bytes: number }[]> {
    const directory = join(this.directory, teamId);
    const names = (await readdir(directory)).filter((name) => name.endsWith(".tar"));
    const found = names.map(async (name) => {
      const path = join(directory, name);
      const facts = await stat(path).catch(() => undefined);
      return facts ? [{ path, usedAt: facts.mtimeMs, bytes: facts.size }] : [];
    });
    return (await Promise.all(found)).flat();
  }

  private sign(teamId: string, hash: string, until: number): string {
    return createHmac("sha256", this.seed).update(`upload:${teamId}:${hash}:${until}`).digest("base64url");
  }
}

const full = (message: string) => new AppError("resource_exhausted", message, { reason: "build_files_full" });
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const sumOf = (files: readonly { readonly bytes: number }[]) => files.reduce((sum, { bytes }) => sum + bytes, 0);

/** A file that is being uploaded. */
class Upload {
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

  /** Makes the file durable and gives it its name. */
  async finish(): Promise<void> {
    await this.file.datasync();
    await rename(this.part, this.target);
    await this.close();
  }

  /** Removes the partial file. Repeatable; does nothing after `finish`. */
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
