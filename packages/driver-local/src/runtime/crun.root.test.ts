import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { syscall } from "../sys/libc.ts";
import { TestMachine } from "../testing/machine.ts";

const ST_RDONLY = 1n;
/** Words of struct statfs, and the one of its flags. */
const STATFS_WORDS = 15;
const FLAGS = 10;

describe("crun", () => {
  let machine: TestMachine;
  beforeAll(async () => {
    machine = await TestMachine.make("crun");
  }, 60_000);
  afterAll(() => machine?.dispose(), 60_000);

  test("its program, which a container could reach while it is being made, lies on a read-only mount", async () => {
    const spec = machine.spec();
    const handle = await machine.driver.create(spec, AbortSignal.timeout(60_000));
    try {
      const record = JSON.parse(readFileSync(join(machine.dataFolder, "sandboxes", spec.sandboxId, "state.json"), "utf8"));
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
