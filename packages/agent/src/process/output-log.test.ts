import { describe, expect, test } from "bun:test";
import { type OutputKind, OutputLog } from "./output-log.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** All pieces from `offset` on. */
function readFrom(log: OutputLog, offset: number): [OutputKind, string][] {
  const pieces: [OutputKind, string][] = [];
  let at = Math.max(offset, log.start);
  for (let piece = log.pieceAt(at); piece; piece = log.pieceAt(at)) {
    pieces.push([piece.kind, new TextDecoder().decode(piece.bytes)]);
    at += piece.bytes.length;
  }
  return pieces;
}

describe("OutputLog", () => {
  test("keeps order and kinds, and joins consecutive output of one kind", () => {
    const log = new OutputLog();
    for (const [kind, text] of [
      ["stdout", "a"],
      ["stdout", "b"],
      ["stderr", "c"],
      ["stdout", "d"],
    ] as const)
      log.append(kind, bytes(text));
    expect(readFrom(log, 0)).toEqual([
      ["stdout", "ab"],
      ["stderr", "c"],
      ["stdout", "d"],
    ]);
    expect(readFrom(log, 1)).toEqual([
      ["stdout", "b"],
      ["stderr", "c"],
      ["stdout", "d"],
    ]);
    expect([log.start, log.end, log.pieceAt(4)]).toEqual([0, 4, undefined]);
  });

  test("pieces are at most one data event: 32 KiB of a pipe, 16 KiB of a terminal", () => {
    const sizes = (kind: OutputKind) => {
      const log = new OutputLog();
      log.append(kind, new Uint8Array(100_000));
      return readFrom(log, 0).map(([, text]) => text.length);
    };
    expect(sizes("stdout")).toEqual([32_768, 32_768, 32_768, 1_696]);
    expect(Math.max(...sizes("pty"))).toBe(16_384);
  });

  test("drops the oldest output beyond its capacity; an offset before its start reads from its start", () => {
    const log = new OutputLog({ logBytes: 100_000 });
    for (let i = 0; i < 50; i++) log.append("stdout", new Uint8Array(10_000).fill(i));
    expect(log.end).toBe(500_000);
    expect(log.start).toBeGreaterThan(390_000);
    expect(log.heldBytes).toBeLessThanOrEqual(100_000);
    expect(log.pieceAt(0)?.bytes[0]).toBe(Math.floor(log.start / 10_000));
  });

  test("bounds the memory for output that alternates between two kinds byte by byte", () => {
    const log = new OutputLog({ logBytes: 64 * 1024 });
    for (let i = 0; i < 20_000; i++) log.append(i % 2 ? "stdout" : "stderr", bytes("x"));
    expect(log.heldBytes).toBeLessThanOrEqual(64 * 1024);
    expect(log.end - log.start).toBeLessThan(400);
    expect(log.end).toBe(20_000);
  });

  test("a returned piece is not changed by later output", () => {
    const log = new OutputLog();
    log.append("stdout", bytes("first"));
    const piece = log.pieceAt(0);
    for (let i = 0; i < 10_000; i++) log.append("stdout", bytes("more"));
    expect(new TextDecoder().decode(piece?.bytes)).toBe("first");
  });

  test("reads back what was appended, in pieces of any size", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const log = new OutputLog({ logBytes: 1 << 20 });
    const written: Uint8Array[] = [];
    for (let i = 0; i < 300; i++) {
      const part = new Uint8Array(random(3_000)).map(() => random(256));
      written.push(part);
      log.append((["stdout", "stderr"] as const)[random(2)] ?? "stdout", part);
    }
    const read: Uint8Array[] = [];
    for (let at = 0; at < log.end; at += read.at(-1)?.length ?? 0) read.push(log.pieceAt(at)?.bytes ?? new Uint8Array(1));
    expect(Buffer.concat(read).equals(Buffer.concat(written))).toBe(true);
  });

  test("clear forgets the bytes and keeps the offsets", () => {
    const log = new OutputLog();
    log.append("stdout", bytes("gone"));
    log.clear();
    expect([log.start, log.end, log.heldBytes, log.pieceAt(0)]).toEqual([4, 4, 0, undefined]);
    log.append("stdout", bytes("new"));
    expect(readFrom(log, 0)).toEqual([["stdout", "new"]]);
  });
});
