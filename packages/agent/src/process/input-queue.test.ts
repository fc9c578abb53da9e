import { describe, expect, test } from "bun:test";
import { closeSync, fstatSync, readSync } from "node:fs";
import { LIMITS } from "../limits.ts";
import { makePipe } from "../sys/native.ts";
import { InputQueue } from "./input-queue.ts";

/** More than a pipe takes. */
const LARGE = 600 * 1024;

/** Number of bytes in a pipe whose write end is closed. Closes the pipe. */
function drain(fd: number): number {
  const buffer = new Uint8Array(64 * 1024);
  let total = 0;
  for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer)) total += count;
  closeSync(fd);
  return total;
}

const outcomes = async (writes: readonly Promise<void>[]) =>
  (await Promise.allSettled(writes)).map((settled) => (settled.status === "rejected" ? settled.reason.reason : "taken"));

describe("InputQueue", () => {
  test("discard closes at once and rejects waiting writes, also when the pipe has a reader", async () => {
    const { read, write } = makePipe("write");
    const queue = new InputQueue(write);
    const writes = [queue.write(new Uint8Array(10)), queue.write(new Uint8Array(LARGE)), queue.write(new Uint8Array(LARGE))];
    await writes[0];
    queue.discard();
    queue.discard();
    expect(() => fstatSync(write)).toThrow("EBADF");
    expect(await outcomes(writes)).toEqual(["taken", "input_closed", "input_closed"]);
    expect(drain(read)).toBeLessThan(LARGE);
  });

  test("close waits for earlier writes, and all bytes arrive in order", async () => {
    const { read, write } = makePipe("write");
    const queue = new InputQueue(write);
    const parts = [1, 2, 3].map((value) => new Uint8Array(LARGE).fill(value));
    const writes = parts.map((part) => queue.write(part));
    queue.close();
    expect(await outcomes([queue.write(new Uint8Array(1))])).toEqual(["input_closed"]);
    const received = new Uint8Array(await new Response(Bun.file(read).stream()).arrayBuffer());
    closeSync(read);
    expect(await outcomes(writes)).toEqual(["taken", "taken", "taken"]);
    expect(Buffer.concat(parts).equals(received)).toBe(true);
  });

  test("waiting bytes are bounded; taken ones do not count", async () => {
    const { read, write } = makePipe("write");
    const queue = new InputQueue(write);
    const half = new Uint8Array(LIMITS.pendingInputBytes / 2);
    const writes = [queue.write(half), queue.write(half)];
    expect(await outcomes([queue.write(new Uint8Array(1))])).toEqual(["input_full"]);
    const reader = Bun.file(read).stream().getReader();
    for (let left = 2 * half.length; left > 0; ) left -= (await reader.read()).value?.length ?? left;
    expect(await outcomes(writes)).toEqual(["taken", "taken"]);
    await queue.write(new Uint8Array(1));
    queue.discard();
    await reader.cancel();
    closeSync(read);
  });

  test("without a reader this write and every later one fails", async () => {
    const { read, write } = makePipe("write");
    const queue = new InputQueue(write);
    closeSync(read);
    expect(await outcomes([queue.write(new Uint8Array(1)), queue.write(new Uint8Array(LARGE))])).toEqual(["input_closed", "input_closed"]);
    queue.close();
  });
});
