import { describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { compile, encode } from "../oci/seccomp/bpf.ts";
import { syscall } from "../sys/libc.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const ST_RDONLY = 1n;
/** Words of struct statfs, and the one of its flags. */
const STATFS_WORDS = 15;
const FLAGS = 10;

describe("crun", () => {
  const machine = useTestMachine("crun");

  test("crun applies the filter that the driver has compiled", async () => {
    const spec = machine.spec();
    const handle = await machine.driver.create(spec, AbortSignal.timeout(60_000));
    try {
      const taken = readFileSync(join(machine.dataDir, `run/runtime/boxyard-${spec.sandboxId}/seccomp.bpf`));
      expect(taken.equals(encode(compile(process.arch === "arm64" ? "arm64" : "x64")))).toBe(true);
      // Two lines of /proc/<pid>/status: mode 2 is a filter.
      const status = readFileSync(`/proc/${machine.initPid(handle)}/status`, "utf8");
      expect(status).toMatch(/^Seccomp:\t2\nSeccomp_filters:\t1$/m);
    } finally {
      await machine.driver.destroy(handle);
    }
  });

  test("its program, which a container could reach while it is being made, lies on a read-only mount", async () => {
    const spec = machine.spec();
    const handle = await machine.driver.create(spec, AbortSignal.timeout(60_000));
    try {
      const record = JSON.parse(readFileSync(join(machine.dataDir, "sandboxes", spec.sandboxId, "state.json"), "utf8"));
      const program = `/proc/${record.process.pid}/exe`;
      expect(statSync(program).ino).toBe(statSync("/usr/bin/crun").ino);
      const words = new BigInt64Array(STATFS_WORDS);
      syscall("statfs", [program, words], program);
      expect((words[FLAGS] as bigint) & ST_RDONLY).toBe(ST_RDONLY);
    } finally {
      await machine.driver.destroy(handle);
    }
  });
});
