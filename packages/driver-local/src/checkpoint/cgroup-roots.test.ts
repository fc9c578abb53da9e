import { expect, test } from "bun:test";
import { dumpedCgroupOptions } from "./cgroup-roots.ts";

const NAME = "boxyard-0a1b2c3d";
const INSIDE = `/${NAME}/iaaaaaaaaaaaaaaaaaaaa/init`;

test("on v1 and on both, images have the hierarchies in which the sandbox has cgroups of its own", () => {
  const lines = `9:name=systemd:/system.slice/boxyard.service\n8:pids:${INSIDE}\n7:blkio:/\n4:memory:${INSIDE}\n1:cpu,cpuacct:${INSIDE}\n0::${INSIDE}\n`;
  expect(dumpedCgroupOptions(NAME, lines)).toEqual(
    ["pids", "memory", "cpu,cpuacct", ""].flatMap((one) => ["--cgroup-dump-controller", one]),
  );
});

test("on pure v2 there is one hierarchy, without a name; a cgroup of a similar name is not the server's", () => {
  expect(dumpedCgroupOptions(NAME, `0::${INSIDE}\n`)).toEqual(["--cgroup-dump-controller", ""]);
  expect(dumpedCgroupOptions(NAME, `3:cpuset:/${NAME}0/x\n0::/\n`)).toEqual([]);
});
