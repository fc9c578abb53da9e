import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UidClaims } from "./uid-claims.ts";
import { RANGE_SIZE, UidRanges } from "./uid-ranges.ts";

const base = mkdtempSync(join(tmpdir(), "boxyard-uids-"));
afterAll(() => rmSync(base, { recursive: true }));
let machines = 0;
/** A run directory, which the servers of one machine share. */
const newMachine = () => join(base, `${++machines}`);
const rangesOf = (instance: string, machine = newMachine()) => new UidRanges(instance, new UidClaims(machine, instance, "boot"));
const claimsOn = (machine: string) => readdirSync(join(machine, "uid-ranges-boot"));

const FIRST = 0x1000_0000;
const SLOTS = (0x7000_0000 - FIRST) / RANGE_SIZE;

test("ranges never overlap, and a freed one is used again as late as possible", () => {
  // Without claims: they would be a file for each range.
  const ranges = new UidRanges("0000002a", { claim: () => true, free: () => {}, keepOnly: () => {}, release: () => {} });
  const first = ranges.take();
  expect(first).toBe(FIRST + 42 * RANGE_SIZE);
  ranges.free(first);
  expect(ranges.take()).toBe(first + RANGE_SIZE);
  const seen = new Set<number>([first + RANGE_SIZE]);
  for (let i = 1; i < SLOTS; i++) seen.add(ranges.take());
  expect(seen.size).toBe(SLOTS);
  expect(Math.min(...seen)).toBe(FIRST);
  expect(Math.max(...seen)).toBe(0x7000_0000 - RANGE_SIZE);
  expect(() => ranges.take()).toThrow("Every range");
  ranges.free(FIRST);
  expect(ranges.take()).toBe(FIRST);
});

test("a range that an earlier process took is not taken again", () => {
  const ranges = rangesOf("00000000");
  ranges.adopt([FIRST]);
  expect(ranges.take()).toBe(FIRST + RANGE_SIZE);
});

test("two servers begin at different places", () => {
  expect(rangesOf("12345678").take()).not.toBe(rangesOf("87654321").take());
});

test("two servers that begin at the same place never have the same range, nor what the other one's sandboxes had before it started", () => {
  const machine = newMachine();
  const names = ["00000007", (7 + SLOTS).toString(16).padStart(8, "0")] as const;
  const [one, other] = names.map((name) => rangesOf(name, machine)) as [UidRanges, UidRanges];
  const taken = Array.from({ length: 20 }, (_, i) => (i % 3 === 0 ? one : other).take());
  expect(new Set(taken).size).toBe(20);
  one.free(taken[0] as number);
  // A server cannot free another server's range.
  one.free(taken[1] as number);
  const third = rangesOf((7 + 2 * SLOTS).toString(16).padStart(8, "0"), machine);
  expect([third.take(), third.take()]).toEqual([taken[0] as number, FIRST + (7 + 20) * RANGE_SIZE]);
});

test("what a killed server claimed and did not use is free for all servers, what its sandboxes have is not", () => {
  const machine = newMachine();
  const killed = rangesOf("00000000", machine);
  const [used, claimed] = [killed.take(), killed.take()];
  const next = rangesOf("00000000", machine);
  next.adopt([used]);
  expect(claimsOn(machine)).toEqual([String(used)]);
  expect(rangesOf(SLOTS.toString(16).padStart(8, "0"), machine).take()).toBe(claimed);
});

test("the last server that leaves the machine leaves no files, and ranges can be taken again after that", () => {
  const machine = newMachine();
  const [one, other] = [rangesOf("00000001", machine), rangesOf("00000002", machine)];
  const [first, second] = [one.take(), other.take()];
  one.free(first);
  one.release();
  expect(claimsOn(machine)).toEqual([String(second)]);
  other.free(second);
  other.release();
  expect(readdirSync(machine)).toEqual([]);
  expect(one.take()).toBe(first + RANGE_SIZE);
});

test("claims from before a reboot are removed", () => {
  const machine = newMachine();
  const before = rangesOf("00000000", machine).take();
  const after = new UidRanges(SLOTS.toString(16).padStart(8, "0"), new UidClaims(machine, "other", "next-boot"));
  expect(after.take()).toBe(before);
  expect(readdirSync(machine)).toEqual(["uid-ranges-next-boot"]);
});
