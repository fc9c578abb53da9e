import { expect, test } from "bun:test";
import { compareSnapshots, isAbout } from "./compare.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";

const empty: Snapshot = {
  mounts: [],
  loops: [],
  links: [],
  networkNamespaces: [],
  nftTables: [],
  routers: [],
  userIds: [],
  cgroups: [],
  processes: [],
  devices: [],
};

test("the same machine twice shows no difference", () => {
  const snapshot = takeSnapshot();
  expect(compareSnapshots(snapshot, snapshot)).toEqual([]);
  expect(snapshot.mounts.length).toBeGreaterThan(0);
  expect(snapshot.devices.some((line) => line.startsWith("/dev/null: owner 0:0"))).toBe(true);
});

test.each([
  ["/d/test/pool (btrfs, /dev/loop1, root /)", true],
  ["loop1: /d/test/pool.img", true],
  ["100000 of /d/test", true],
  ["/d/test-3-walk/pool (btrfs, /dev/loop2, root /)", false],
  ["7: server --data /d/test-2 --beside /d/test", true],
])("%p is about /d/test: %p", (line, expected) => {
  expect(isAbout(line, "/d/test")).toBe(expected);
});

test("one more of each kind is a leak, also a second mount at the same place", () => {
  const before = { ...empty, mounts: ["/pool (btrfs)"] };
  const after = { ...empty, mounts: ["/pool (btrfs)", "/pool (btrfs)"], links: ["by0"], cgroups: ["/sys/fs/cgroup/boxyard-1"] };
  expect(compareSnapshots(before, after)).toEqual([
    { kind: "mounts", change: "left behind", what: "/pool (btrfs)" },
    { kind: "links", change: "left behind", what: "by0" },
    { kind: "cgroups", change: "left behind", what: "/sys/fs/cgroup/boxyard-1" },
  ]);
});

test("a mount of another program that vanished is a fault, an ended process is not", () => {
  const before = { ...empty, mounts: ["/data (ext4)"], processes: ["1: x"] };
  expect(compareSnapshots(before, empty)).toEqual([{ kind: "mounts", change: "taken away", what: "/data (ext4)" }]);
});

test("a device node with another owner or mode is a fault, a new node is not", () => {
  const before = { ...empty, devices: ["/dev/null: owner 0:0, mode 666"] };
  const after = { ...empty, devices: ["/dev/null: owner 100000:100000, mode 666", "/dev/loop7: owner 0:6, mode 660"] };
  expect(compareSnapshots(before, after)).toEqual([
    { kind: "devices", change: "changed", what: "/dev/null: owner 0:0, mode 666 → /dev/null: owner 100000:100000, mode 666" },
  ]);
});
