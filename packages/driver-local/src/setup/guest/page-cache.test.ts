import { expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readWhole, rewriteWhole } from "./page-cache.ts";

test("a file that is rewritten keeps its content and mode, and is another file", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-page-cache-"));
  try {
    const path = join(directory, "agent");
    const content = Buffer.alloc(3_000_001, "x");
    writeFileSync(path, content);
    chmodSync(path, 0o755);
    const { ino } = statSync(path);
    const umask = process.umask(0o077);
    try {
      rewriteWhole(path);
    } finally {
      process.umask(umask);
    }
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(statSync(path).ino).not.toBe(ino);
    expect(readdirSync(directory)).toEqual(["agent"]);
    await readWhole(path);
    await expect(readWhole(join(directory, "missing"))).rejects.toThrow("ENOENT");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
