import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFiles } from "./make-files.ts";

/** What a browser may have to load before it shows the first page, compressed. */
const MOST_FIRST_BYTES = 300_000;

test("the first load is small, without the terminal, the editor and the charts, and the page holds no script or style", async () => {
  const work = mkdtempSync(join(tmpdir(), "boxyard-files-"));
  try {
    const files = await makeFiles(join(work, "out"));
    const first = files.filter(({ isFirst }) => isFirst);
    const bytes = first.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0);
    expect([bytes > 20_000, bytes < MOST_FIRST_BYTES]).toEqual([true, true]);
    const text = (name: string) => Buffer.from(Bun.gunzipSync(readFileSync(join(work, "out", `${name}.gz`)))).toString();
    const scripts = files.filter(({ name }) => name.endsWith(".js"));
    for (const mark of ["xterm-helper-textarea", "cm-editor", "u-wrap", "FlateDecode"]) {
      const holders = scripts.filter(({ name }) => text(name).includes(mark));
      expect([holders.length > 0, holders.some(({ isFirst }) => isFirst)]).toEqual([true, false]);
    }
    // What reads PDFs is one file, which its policy lets load no other.
    const [worker, ...more] = scripts.filter(({ name }) => name.startsWith("pdf-"));
    expect([more, scripts.filter(({ name }) => text(name).includes(`/dashboard/assets/${worker?.name}`)).length]).toEqual([[], 1]);
    expect(text(worker?.name ?? "")).not.toMatch(/\b(?:from|import) ?"\.\//);
    const page = readFileSync(join(work, "out/index.html"), "utf8");
    expect(page.match(/<script[^>]*><\/script>/g)).toHaveLength(1);
    expect(page).not.toMatch(/<style|style=|https?:|<script>/);
  } finally {
    rmSync(work, { recursive: true });
  }
}, 60_000);
