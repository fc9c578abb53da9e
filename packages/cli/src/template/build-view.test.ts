import { expect, test } from "bun:test";
import type { BuildLogEntry } from "@boxyard/sdk/template";
import type { Output } from "../output/output.ts";
import { BuildView } from "./build-view.ts";

const STARTED = Date.parse("2026-01-01T00:00:00Z");

/** What a view prints where nobody looks at a terminal; an entry is a text, and when it was written. */
function shown(...entries: [message: string, afterMs: number, level?: BuildLogEntry["level"]][]): string[] {
  const lines: string[] = [];
  const plain = (text: string) => text;
  const output = { note: (text: string) => void lines.push(text), dim: plain, bold: plain, red: (text: string) => `!${text}` };
  const view = new BuildView(output as unknown as Output);
  view.upload({ step: 3, stage: "build", source: "a.txt", state: "packing", bytes: undefined });
  view.upload({ step: 3, stage: "build", source: "a.txt", state: "uploaded", bytes: 2048 });
  for (const [message, afterMs, level = "info"] of entries) view.log({ message, level, step: "1", timestamp: new Date(STARTED + afterMs) });
  view.end();
  return lines;
}

test("a line for each step, what its commands print, CACHED, and how long it took", () => {
  const hash = "[0123456789abcdef]";
  expect(
    shown(
      [`CACHED [base] FROM base:default ${hash}`, 0],
      [`[build 1/2] RUN make ${hash}`, 100],
      ["[build 1/2] [stdout]: made", 150],
      ["[build 1/2] [stderr]: [warned]", 160],
      [`CACHED [build 2/2] RUN b ${hash}`, 1600],
      [`[builder 1/1] RUN one\ntwo ${hash}`, 1700],
      ["Build failed: exit status 1", 1950, "error"],
    ),
  ).toEqual([
    "uploaded a.txt (2.0 KiB)",
    "[base] FROM base:default  CACHED",
    "[build 1/2] RUN make",
    "  made",
    "  [warned]",
    "  1.5 s",
    "[build 2/2] RUN b  CACHED",
    "[1/1] RUN one …",
    "  0.3 s",
    "!Build failed: exit status 1",
  ]);
});
