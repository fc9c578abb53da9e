import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SandboxId, systemClock } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { InstanceCgroups } from "./instance.ts";
import { SandboxCgroup } from "./sandbox-cgroup.ts";

const ID = "i0123456789abcdefghij" as SandboxId;
const ROUNDS = 2000;

test("groups below can be listed while others are made and removed", async () => {
  const unified = mkdtempSync(join(tmpdir(), "boxyard-cgroup-"));
  const cgroup = new SandboxCgroup(new InstanceCgroups({ unified, v1: {} }, "test"), ID, systemClock);
  mkdirSync(join(cgroup.top, "user/frozen"), { recursive: true });
  for (const group of ["user", "user/frozen"]) writeFileSync(join(cgroup.top, group, "cgroup.freeze"), group === "user" ? "0\n" : "1\n");
  // As the agent does for commands that start and end.
  const churn = "while :; do for i in 1 2 3 4 5 6 7 8; do mkdir -p c$i/d; echo 1 > c$i/d/cgroup.freeze; done; rm -r c?; done";
  // In a process group of its own: what the shell has started would go on after it.
  const child = Bun.spawn(["sh", "-c", churn], { cwd: join(cgroup.top, "user"), stdout: "ignore", stderr: "ignore", detached: true });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      expect(cgroup.frozenBelow()).toContain("user/frozen");
      cgroup.processes();
    }
  } finally {
    process.kill(-child.pid, "SIGKILL");
    await child.exited;
    await eventually("the group is gone, and its directory", () => {
      rmSync(unified, { recursive: true, force: true });
      return !existsSync(unified);
    });
  }
});
