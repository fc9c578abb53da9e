import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesField, numberField } from "../criu/image-messages.ts";
import { carriersIn, isNested } from "./in-flight.ts";

/** A message in `socket` of three bytes that carries `files`. */
function packet(socket: bigint, files: readonly bigint[]): Buffer {
  const control = Buffer.concat([numberField(1, 1n), ...files.map((file) => numberField(2, file))]);
  const body = Buffer.concat([numberField(1, socket), numberField(2, 3n), ...(files.length > 0 ? [bytesField(4, control)] : [])]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([length, body, Buffer.from("abc")]);
}

test("messages that carry descriptors are found among others, and those within each other", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-in-flight-"));
  const path = join(directory, "sk-queues.img");
  try {
    writeFileSync(path, Buffer.concat([Buffer.alloc(8), packet(4n, []), packet(42n, [43n]), packet(300n, [400n, 42n])]));
    const carriers = carriersIn(path);
    expect(carriers).toEqual([
      { socket: 42n, files: [43n] },
      { socket: 300n, files: [400n, 42n] },
    ]);
    expect([isNested(carriers), isNested(carriers.slice(0, 1))]).toEqual([true, false]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
