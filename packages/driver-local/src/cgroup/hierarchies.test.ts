import { expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { hybridControllersFile, mountPoints, parseHierarchies } from "./hierarchies.ts";

const V2 = "29 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
const HYBRID = [
  "30 22 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755",
  "31 30 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory",
  "32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct",
  "33 30 0:30 / /sys/fs/cgroup/my\\040pids rw,relatime - cgroup cgroup rw,pids",
  "34 30 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
].join("\n");

test("pure v2 has everything in one place", () => {
  const found = parseHierarchies(V2, () => "cpuset cpu io memory pids\n");
  expect(found).toEqual({ unified: "/sys/fs/cgroup", v1: {} });
  expect(mountPoints(found)).toEqual(["/sys/fs/cgroup"]);
  expect(hybridControllersFile(found)).toBeUndefined();
});

test("a hybrid machine has controllers in v1, two of them at one path", () => {
  const found = parseHierarchies(HYBRID, () => "hugetlb\n");
  const cpu = "/sys/fs/cgroup/cpu,cpuacct";
  const v1 = { memory: "/sys/fs/cgroup/memory", cpu, cpuacct: cpu, pids: "/sys/fs/cgroup/my pids" };
  expect(found).toEqual({ unified: "/sys/fs/cgroup/unified", v1 });
  expect(mountPoints(found)).toEqual(["/sys/fs/cgroup/unified", v1.memory, cpu, v1.pids]);
  expect(hybridControllersFile(found)).toBe("/sys/fs/cgroup/unified/cgroup.controllers");
});

test("a controller that is in v2 is used there, even when a v1 mount of it exists", () => {
  expect(parseHierarchies(HYBRID, () => "memory pids").v1).toEqual({
    cpu: "/sys/fs/cgroup/cpu,cpuacct",
    cpuacct: "/sys/fs/cgroup/cpu,cpuacct",
  });
});

test("names what is missing", () => {
  const reason = (text: string, controllers: string) => {
    try {
      parseHierarchies(text, () => controllers);
      return "nothing";
    } catch (error) {
      return isAppError(error) ? error.reason : String(error);
    }
  };
  expect(reason("", "")).toBe("cgroup2_missing");
  expect(reason(V2, "cpu memory")).toBe("cgroup_controller_missing");
});

test("the v1 hierarchy of blkio is used only when it is wanted and v2 has no io controller", () => {
  const mounts = `${HYBRID}\n35 30 0:32 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio`;
  expect(parseHierarchies(mounts, () => "hugetlb").v1.blkio).toBeUndefined();
  expect(
    parseHierarchies(
      mounts,
      () => "hugetlb",
      () => true,
    ).v1.blkio,
  ).toBe("/sys/fs/cgroup/blkio");
  expect(
    parseHierarchies(
      mounts,
      () => "io",
      () => true,
    ).v1.blkio,
  ).toBeUndefined();
});
