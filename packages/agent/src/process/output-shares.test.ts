import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast } from "./broadcast.ts";
import { ALONE, OutputShares } from "./output-shares.ts";

const bounds = ({ logBytes, behindBytes }: OutputShares) => ({ logBytes, behindBytes });

test("few commands have the bounds of a single one, many share a total; a command that has ended does not count, and leaves once", () => {
  const shares = new OutputShares();
  const leave = Array.from({ length: 10 }, () => shares.enter());
  expect(bounds(shares)).toEqual(ALONE);
  leave.push(...Array.from({ length: 990 }, () => shares.enter()));
  expect(shares.logBytes * 1000).toBeLessThanOrEqual(LIMITS.outputLogsBytes);
  for (const end of leave.slice(10)) {
    end();
    end();
  }
  expect(bounds(shares)).toEqual(ALONE);
});

test("the outputs of a thousand commands without readers stay within the total, and each keeps its last bytes", () => {
  const shares = new OutputShares();
  const outputs = Array.from({ length: 1000 }, () => {
    shares.enter();
    return new Broadcast<string>(new FakeClock(), shares);
  });
  for (const output of outputs) for (let i = 0; i < 10; i++) output.append("stdout", new Uint8Array(32 * 1024).fill(i));
  const held = outputs.reduce((sum, { log }) => sum + log.heldBytes, 0);
  // Whole blocks are dropped, so a log may exceed its share by a block.
  expect(held).toBeLessThan(LIMITS.outputLogsBytes * 1.2);
  for (const { log } of outputs) expect(log.pieceAt(log.end - 1)?.bytes[0]).toBe(9);
});
