import { expect, test } from "bun:test";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeAll } from "./write-all.ts";

test("writes on where a write took only a part", async () => {
  const taken: number[] = [];
  const file = {
    async write(bytes: Uint8Array, offset: number, length: number) {
      const part = bytes.subarray(offset, offset + Math.min(length, 3));
      taken.push(...part);
      return { bytesWritten: part.byteLength };
    },
  };
  await writeAll(file, new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
  await writeAll(file, new Uint8Array());
  expect(taken).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("pieces follow each other in a real file", async () => {
  const directory = await mkdtemp(join(tmpdir(), "boxyard-write-"));
  try {
    const handle = await open(join(directory, "f"), "w");
    for (const piece of ["one ", "two ", "three"]) await writeAll(handle, Buffer.from(piece));
    await handle.close();
    expect(await readFile(join(directory, "f"), "utf8")).toBe("one two three");
  } finally {
    await rm(directory, { recursive: true });
  }
});
