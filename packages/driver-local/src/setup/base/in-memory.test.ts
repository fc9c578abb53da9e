import { expect, test } from "bun:test";
import { roomOfCgroup, treeFitsMemory } from "./in-memory.ts";

const GIB = 1024 ** 3;
const readerOf = (files: Readonly<Record<string, string>>) => (path: string) => {
  const text = files[path];
  if (text === undefined) throw new Error("ENOENT");
  return text;
};

test("a tree is built in memory where the machine and the container have twice what it may take", () => {
  const fits = (available: number, room: number) =>
    treeFitsMemory(
      () => available,
      () => room,
    );
  expect([fits(4 * GIB, Number.POSITIVE_INFINITY), fits(3 * GIB, Number.POSITIVE_INFINITY), fits(64 * GIB, GIB)]).toEqual([
    true,
    false,
    false,
  ]);
});

test("the room of a cgroup is that of the narrowest limit above it, in both versions, and in a container that sees only its own", () => {
  expect(roomOfCgroup(readerOf({ "/proc/self/cgroup": "0::/\n" }))).toBe(Number.POSITIVE_INFINITY);
  const v2 = {
    "/proc/self/cgroup": "0::/a/b\n",
    "/sys/fs/cgroup/a/b/memory.max": "max\n",
    "/sys/fs/cgroup/a/b/memory.current": "5\n",
    "/sys/fs/cgroup/a/memory.max": "1000\n",
    "/sys/fs/cgroup/a/memory.current": "400\n",
  };
  expect(roomOfCgroup(readerOf(v2))).toBe(600);
  const v1 = {
    "/proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/docker/abc\n0::/\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n",
    "/sys/fs/cgroup/memory/memory.usage_in_bytes": "500\n",
  };
  expect(roomOfCgroup(readerOf(v1))).toBe(1500);
});
