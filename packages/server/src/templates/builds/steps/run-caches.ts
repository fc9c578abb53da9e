import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { TemplateId } from "@boxyard/core";

const MAX_CACHE_BYTES = 2 * 2 ** 30;
const MAX_TOTAL_BYTES = 20 * 2 ** 30;
const PART = ".part";

/**
 * Contents of `RUN --mount=type=cache`: one tar for each template and cache, of 2 GiB at most. All of them take 20 GiB at most; the one with the oldest
 * use is removed first. Builds that run at once begin with the same content, and the build that ends last keeps its own.
 */
export class RunCaches {
  private readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Path of the tar of an earlier build; undefined if there is none. Counts as a use. */
  async find(templateId: TemplateId, id: string): Promise<string | undefined> {
    const path = this.path(templateId, id);
    if (!existsSync(path)) return undefined;
    const now = new Date();
    await utimes(path, now, now).catch(() => {});
    return path;
  }

  /** Keeps a build's content of a cache. Returns false when the content is too large: then the earlier one stays. */
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

  /** Removes the caches of a template. */
  async remove(templateId: TemplateId): Promise<void> {
    await rm(join(this.directory, templateId), { recursive: true, force: true });
  }

  /** Removes partial files of a killed server. To be called once, at the start. */
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

/** Writes a file. Returns false when the content has more than `MAX_CACHE_BYTES`. */
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
