import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { TemplateId } from "@boxyard/core";

const MAX_CACHE_BYTES = 2 * 2 ** 30;
const MAX_TOTAL_BYTES = 20 * 2 ** 30;
const PART = ".part";

/**
 * What `RUN --mount=type=cache` finds again: one tar for each template and cache, 2 GiB at most. All of them together take 20 GiB at most; what
 * was used longest ago goes first. Builds that run at once begin with the same content, and the last one to end leaves its own.
 */
export class RunCaches {
  private readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Path of the tar that an earlier build has left; undefined when there is none. */
  async find(templateId: TemplateId, id: string): Promise<string | undefined> {
    const path = this.path(templateId, id);
    if (!existsSync(path)) return undefined;
    const now = new Date();
    await utimes(path, now, now).catch(() => {});
    return path;
  }

  /** Keeps what a build has left. False when it is too large: then an earlier one stays. */
  async keep(templateId: TemplateId, id: string, content: ReadableStream<Uint8Array>): Promise<boolean> {
    const path = this.path(templateId, id);
    await mkdir(join(this.directory, templateId), { recursive: true, mode: 0o700 });
    const part = `${path}.${crypto.randomUUID()}${PART}`;
    try {
      if (!(await write(content, part))) return false;
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
    await this.prune();
    return true;
  }

  /** Forgets what builds of a template have left. */
  async remove(templateId: TemplateId): Promise<void> {
    await rm(join(this.directory, templateId), { recursive: true, force: true });
  }

  /** Call it once at the start: what a killed server was writing goes. */
  async removeParts(): Promise<void> {
    for (const path of await this.files()) if (path.endsWith(PART)) await rm(path, { force: true });
  }

  private path(templateId: TemplateId, id: string): string {
    return join(this.directory, templateId, `${createHash("sha256").update(id).digest("hex")}.tar`);
  }

  private async files(): Promise<string[]> {
    const found = await readdir(this.directory, { recursive: true, withFileTypes: true }).catch(() => []);
    return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  private async prune(): Promise<void> {
    const kept: { path: string; bytes: number; usedAt: number }[] = [];
    for (const path of await this.files()) {
      const facts = await stat(path).catch(() => undefined);
      if (facts && !path.endsWith(PART)) kept.push({ path, bytes: facts.size, usedAt: facts.mtimeMs });
    }
    let total = 0;
    for (const { path, bytes } of kept.sort((a, b) => b.usedAt - a.usedAt)) {
      total += bytes;
      if (total > MAX_TOTAL_BYTES) await rm(path, { force: true });
    }
  }
}

/** False when there is more than may be kept. */
async function write(content: ReadableStream<Uint8Array>, path: string): Promise<boolean> {
  const file = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    for await (const chunk of content as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > MAX_CACHE_BYTES) return false;
      await file.writeFile(chunk);
    }
    return true;
  } finally {
    await file.close();
  }
}
