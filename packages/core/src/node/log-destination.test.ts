import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LogDestination } from "./log-destination.ts";
import { createLogger } from "./logger.ts";

test("a logger on a full disk does not throw", () => {
  // Every write to this device ends with ENOSPC.
  const logger = createLogger("test", { file: "/dev/full" });
  for (let i = 0; i < 1000; i++) logger.error({ err: new Error("cause") }, "a line");
});

test("dropped lines are counted, and reported when lines can be written again", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-log-"));
  try {
    const disk = { isFull: false };
    const write = ((...args: Parameters<typeof writeSync>) => {
      if (disk.isFull) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      return writeSync(...args);
    }) as typeof writeSync;
    const destination = new LogDestination({ file: join(directory, "below", "log") }, write);
    destination.write('{"msg":"first"}\n');
    disk.isFull = true;
    for (let i = 0; i < 3; i++) destination.write('{"msg":"lost"}\n');
    disk.isFull = false;
    destination.write('{"msg":"last"}\n');
    const lines = readFileSync(join(directory, "below", "log"), "utf8")
      .trim()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { msg: "first" },
      { level: 40, time: expect.any(String), dropped: 3, cause: "ENOSPC", msg: "lines of this log were dropped" },
      { msg: "last" },
    ]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a write that is cut short is completed", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-log-"));
  try {
    const short = ((fd: number, bytes: Uint8Array, offset: number, length: number) =>
      writeSync(fd, bytes, offset, Math.min(3, length))) as typeof writeSync;
    new LogDestination({ file: join(directory, "log") }, short).write("a longer line\n");
    expect(readFileSync(join(directory, "log"), "utf8")).toBe("a longer line\n");
  } finally {
    rmSync(directory, { recursive: true });
  }
});
