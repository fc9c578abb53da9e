import { expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { RoomForMemory } from "./room-for-memory.ts";

const MIB = 2 ** 20;
const roomOf = (freeMib: number) => new RoomForMemory({ room: () => ({ diskLimitBytes: 1000 * MIB, diskFreeBytes: freeMib * MIB }) });

function refusal(take: () => void): string {
  try {
    take();
  } catch (error) {
    expect(isAppError(error, "resource_exhausted")).toBe(true);
    return (error as Error).message;
  }
  throw new Error("not refused");
}

test("several claims together hold no more room than there is, and a claim that ends releases what it held", () => {
  const rooms = roomOf(250);
  const [first, second, third] = [rooms.claim(), rooms.claim(), rooms.claim()];
  first.take(100 * MIB);
  second.take(100 * MIB);
  expect(refusal(() => third.take(100 * MIB))).toBe(
    "The sandbox's memory takes up to 100 MiB, and the storage pool has room for 50 MiB besides 200 MiB that others are writing now",
  );
  third.take(50 * MIB);
  third[Symbol.dispose]();
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  rooms.claim().take(150 * MIB);
  expect(refusal(() => rooms.claim().take(1))).toContain("room for 0 MiB");
});

test("a refused claim holds nothing, and a claim that takes again holds only the last size", () => {
  const rooms = roomOf(100);
  const claim = rooms.claim();
  expect(refusal(() => claim.take(101 * MIB))).toBe("The sandbox's memory takes up to 101 MiB, and the storage pool has room for 100 MiB");
  claim.take(100 * MIB);
  claim.take(40 * MIB);
  rooms.claim().take(60 * MIB);
});
