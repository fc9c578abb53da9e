import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createLogger } from "@boxyard/core/node";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { KEEP_FROZEN } from "../checkpoint/pause.ts";
import { trials } from "../doctor/checks/trials.ts";
import { isAlive } from "../runtime/process.ts";
import { DataPaths } from "../state/paths.ts";
import { type ProcessIdentity, readRecord } from "../state/record.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { testProgram } from "../testing/test-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/** A trial begins after half of it. */
const LINGER_MS = 4_000;

describe("the trial of an image beside the frozen processes", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  let log: string;
  beforeAll(async () => {
    log = join(machine.dataDir, "driver.log");
    machine.logger = createLogger("test", { level: "info", file: log });
    machine.wakeCache = { lingerMs: LINGER_MS, trialsAtOnce: 1 };
    await machine.reopen();
  }, 600_000);
  afterEach(() => machine.destroyAll(), 60_000);

  async function running() {
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await startUnread(address, "exec sleep 1000");
    return { spec, handle };
  }
  async function paused(atPause: (images: string) => void = () => {}) {
    const { spec, handle } = await running();
    const { process } = recordOf(spec);
    const images = join(machine.dataDir, "pool/generations", spec.sandboxId, "1/images");
    machine.faults.before = (step) => (step === KEEP_FROZEN ? atPause(images) : undefined);
    await machine.driver.pause(handle, { memory: true }, never);
    machine.faults.before = () => {};
    return { spec, handle, process: process as ProcessIdentity };
  }
  /** Another server pauses the sandbox, and kills itself in the trial of its image. */
  async function dieInTrial(when: string, step: string, spec: SandboxSpec) {
    const argv = [process.execPath, testProgram("die-at-pause"), machine.dataDir, when, step, "true", JSON.stringify(spec), "1000", "1"];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect([child.signalCode, directories().length]).toEqual(["SIGKILL", 2]);
  }
  const recordOf = ({ sandboxId }: SandboxSpec) => {
    const record = readRecord(new DataPaths(machine.dataDir).state(sandboxId));
    if (!record) throw new Error("no record");
    return record;
  };
  const resume = (spec: SandboxSpec) => machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
  const sleeps = async (handle: SandboxHandle) => {
    const address = await machine.driver.address(handle);
    await initAgent(address);
    return (await exec(address, "grep -l sleep /proc/[0-9]*/comm | wc -l")).output === "1\n";
  };
  /** Directories of sandboxes, the trial's own too. */
  const directories = () => readdirSync(join(machine.dataDir, "sandboxes")).filter((name) => name.startsWith("i") && !name.includes("."));
  const doctorSays = () => trials.look({ dataDir: machine.dataDir, instance: undefined, runtime: undefined });

  test("ends before its first process runs, leaves nothing, and then the processes go after their time; the image is whole", async () => {
    const before: string[][] = [];
    let tried = 0;
    const { spec, process } = await paused();
    machine.faults.before = async (step) => {
      if (step !== "restoreForTrial") return;
      tried += 1;
      before.push(
        directories(),
        (await machine.driver.list()).map(({ sandboxId }) => sandboxId),
      );
    };
    await eventually("its processes are gone", () => !isAlive(process));
    expect([tried, before[0]?.length, before[1]]).toEqual([1, 2, [spec.sandboxId]]);
    expect([directories(), existsSync(join(machine.dataDir, "pool/generations", spec.sandboxId))]).toEqual([[spec.sandboxId], true]);
    expect(await doctorSays()).toMatchObject({ status: "ok" });
    expect(await sleeps(await resume(spec))).toBe(true);
  });

  test("that fails keeps the processes until a resume, and the log and doctor say so", async () => {
    const { spec, process } = await paused((images) => {
      for (const name of readdirSync(images)) if (/^core-/.test(name)) rmSync(join(images, name));
    });
    await eventually("the trial has failed", () => existsSync(new DataPaths(machine.dataDir).failedTrial(spec.sandboxId)));
    const other = await paused();
    await eventually("the time of one that was paused later is over", () => !isAlive(other.process));
    expect(isAlive(process)).toBe(true);
    expect(await machine.driver.reclaim({ memoryBytes: 1, processes: 1 })).toBe(false);
    const lines = readFileSync(log, "utf8").trim().split("\n");
    const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => String(msg).includes("could not be restored in a trial"));
    expect(told).toMatchObject([{ sandboxId: spec.sandboxId, level: 50 }]);
    expect(await doctorSays()).toMatchObject({ status: "warn", found: expect.stringContaining(spec.sandboxId) });
    expect(directories().sort()).toEqual([spec.sandboxId, other.spec.sandboxId].sort());
    const handle = await resume(spec);
    expect([await sleeps(handle), recordOf(spec).process]).toEqual([true, process]);
    expect(await doctorSays()).toMatchObject({ status: "ok" });
  });

  test.each([
    ["after", "cloneDisk"],
    ["before", "restoreForTrial"],
    ["after", "restoreForTrial"],
  ])("of a server that was killed %s %s is removed by the next one, which resumes the sandbox from its image", async (when, step) => {
    const { spec } = await running();
    await machine.close();
    await dieInTrial(when, step, spec);
    await machine.reopen();
    expect((await machine.driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([spec.sandboxId]);
    await eventually("the trial is gone", () => directories().length === 1);
    expect(await sleeps(await resume(spec))).toBe(true);
  });

  test("of a server that was killed is gone when everything is released", async () => {
    const { spec, handle } = await running();
    await machine.close();
    await dieInTrial("before", "restoreForTrial", spec);
    await machine.reopen();
    await machine.driver.destroy(handle);
    await machine.driver.release();
    expect(directories()).toEqual([]);
    await machine.close();
    await machine.reopen();
  });

  test("is not made when it is resumed at once", async () => {
    const { spec } = await paused();
    expect(await sleeps(await resume(spec))).toBe(true);
    let tried = 0;
    const other = await paused();
    machine.faults.before = (step) => {
      if (step === "restoreForTrial") tried += 1;
    };
    await eventually("the time of one that was paused later is over", () => !isAlive(other.process));
    expect(tried).toBe(1);
  });
});
