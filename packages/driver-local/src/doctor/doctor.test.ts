import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crun } from "../runtime/crun.ts";
import { runc } from "../runtime/runc.ts";
import { describeHierarchies } from "./checks/cgroups.ts";
import { isAtLeast, missingCapabilities, parseKernelVersion } from "./checks/machine.ts";
import { judgeRuntimes } from "./checks/programs.ts";
import { CHECKS, fingerprint } from "./fingerprint.ts";

test("doctor says which runtime is used, and why", () => {
  const works = { dialect: crun, file: "/usr/bin/crun", version: "crun version 1.8.1", problem: undefined };
  const other = { dialect: runc, file: "/usr/sbin/runc", version: "runc version 1.1.5", problem: undefined };
  const missing = { dialect: crun, file: undefined, version: "", problem: "crun is not installed" };
  expect(judgeRuntimes([works], undefined)).toEqual({
    status: "ok",
    found: "crun version 1.8.1 at /usr/bin/crun, the quicker of those that work here",
  });
  expect(judgeRuntimes([other], "runc").found).toBe("runc version 1.1.5 at /usr/sbin/runc, by BOXYARD_RUNTIME");
  expect(judgeRuntimes([missing, other], undefined)).toMatchObject({
    status: "warn",
    found: "runc version 1.1.5 at /usr/sbin/runc, because crun is not installed",
  });
  expect(judgeRuntimes([missing], "crun")).toMatchObject({ status: "fail", found: "crun is not installed" });
});

test("doctor says which cgroups are used, and why", () => {
  expect(describeHierarchies({ unified: "/sys/fs/cgroup", v1: {} })).toBe(
    "v2 at /sys/fs/cgroup, for everything: it holds every controller that is needed",
  );
  const hybrid = describeHierarchies({ unified: "/sys/fs/cgroup/unified", v1: { memory: "/a", pids: "/b" } });
  expect(hybrid).toBe(
    "hybrid: v2 at /sys/fs/cgroup/unified to freeze, kill and count; limits of memory, pids in v1, because this machine holds these controllers there",
  );
});

test("kernel versions are parsed and compared", () => {
  expect(parseKernelVersion("6.18.44-fc-v595")).toEqual([6, 18]);
  expect(parseKernelVersion("odd")).toEqual([0, 0]);
  const tries: [readonly [number, number], boolean][] = [
    [[5, 19], true],
    [[5, 18], false],
    [[6, 0], true],
    [[4, 19], false],
  ];
  for (const [version, expected] of tries) expect(isAtLeast(version, [5, 19])).toBe(expected);
});

test("missing capabilities are found in the kernel's hexadecimal set", () => {
  expect(missingCapabilities("000001ffffffffff")).toEqual([]);
  expect(missingCapabilities("000001fffedfffff")).toEqual(["CAP_SYS_ADMIN"]);
  expect(missingCapabilities("0")).toHaveLength(5);
});

test("before set-up doctor has a result for every check, and a fix where one is needed", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-doctor-"));
  try {
    const { checks } = await fingerprint(join(directory, "not/there"));
    expect(checks.slice(0, CHECKS.length).map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name));
    expect(checks.length).toBeGreaterThan(CHECKS.length);
    for (const { status, found, fix } of checks) {
      expect(found).not.toBe("");
      expect(status === "ok" || (fix ?? "") !== "").toBe(true);
    }
    expect(checks.find(({ name }) => name === "set-up")).toMatchObject({ status: "warn", fix: "boxyard setup" });
    expect(checks.find(({ name }) => name === "pool")).toMatchObject({ status: "warn", fix: "boxyard setup" });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
