import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { whileSeized, withCriu } from "../testing/other-criu.ts";
import { type Point, pointsOf } from "../testing/points.ts";
import { testProgram } from "../testing/test-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { captureSteps } from "./capture.ts";
import { createFromDiskSteps, createFromMemorySteps, rollBackToDiskSteps, rollBackToMemorySteps, startFromMemorySteps } from "./steps.ts";

const COUNT = "/root/count";
const ENDS = ["completeSnapshot", "awaitAgent"];

/** Every step of a capture, of a start from a snapshot and of a rollback fails once and is killed once. */
describe("snapshots that are cut off", () => {
  setDefaultTimeout(120_000);
  const machine = useTestMachine();
  let source: { readonly spec: SandboxSpec; readonly handle: SandboxHandle };
  beforeAll(async () => {
    source = await counting();
  }, 600_000);
  afterEach(async () => {
    machine.faults.before = () => {};
    machine.faults.after = () => {};
    for (const handle of await machine.driver.list()) {
      if (handle.sandboxId !== source.handle.sandboxId) await machine.driver.destroy(handle);
    }
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
    expect(readdirSync(join(machine.dataDir, "pool/snapshots"))).toEqual([]);
    expect(readdirSync(join(machine.dataDir, "pool/sandboxes"))).toEqual([source.handle.sandboxId]);
    await goesOn(source.handle);
  }, 60_000);

  /** A sandbox with a loop that counts. */
  const counting = async () => {
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await startUnread(address, countInto(COUNT));
    return { spec, handle };
  };
  const count = async (handle: SandboxHandle) => Number((await exec(await machine.driver.address(handle), lastCount(COUNT))).output);
  const goesOn = async (handle: SandboxHandle) => {
    // NaN before the loop has written for the first time.
    const seen = (await count(handle)) || 0;
    await eventually("the loop goes on", async () => (await count(handle)) > seen);
  };
  const capture = (memory = true) => machine.driver.snapshots.capture(source.handle, { id: "s", memory }, never);
  const specFrom = (memory = true): SandboxSpec => ({ ...machine.spec(), from: { snapshot: "s", memory } });
  const failAt = ({ when, name }: Point) => {
    machine.faults[when] = (step) => {
      if (step !== name) return;
      machine.faults[when] = () => {};
      throw new Error("injected");
    };
  };
  const dieAt = async ({ when, name }: Point, memory: boolean, spec: SandboxSpec) => {
    await machine.close();
    const argv = [process.execPath, testProgram("die-at-snapshot"), machine.dataDir, when, name, String(memory), JSON.stringify(spec)];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    await machine.reopen();
  };
  const failure = (work: Promise<unknown>) => work.then(() => "resolved", String);
  const isUsable = async (memory: boolean) => {
    const fork = await machine.boot(specFrom(memory));
    await initAgent(await machine.driver.address(fork));
    if (memory) await goesOn(fork);
  };

  for (const memory of [true, false]) {
    const kind = memory ? "with memory" : "disk only";

    for (const point of pointsOf(captureSteps, ENDS)) {
      test(`a capture ${kind} that fails or is killed ${point.when} ${point.name}: the source runs on, and can be captured`, async () => {
        failAt(point);
        expect(await failure(capture(memory))).toContain("injected");
        expect(await machine.driver.snapshots.list()).toEqual([]);
        expect(readdirSync(join(machine.dataDir, "pool/snapshots"))).toEqual([]);
        await goesOn(source.handle);
        await dieAt(point, memory, source.spec);
        expect((await machine.driver.inspect(source.handle)).frozen).toBe(false);
        await goesOn(source.handle);
        const isWhole = point.when === "after" && point.name === "completeSnapshot";
        expect((await machine.driver.snapshots.list()).map(({ id }) => id)).toEqual(isWhole ? ["s"] : []);
        if (!isWhole) await capture(memory);
        await isUsable(memory);
      });
    }

    const startSteps = memory ? [...createFromMemorySteps, ...startFromMemorySteps] : createFromDiskSteps.slice(0, 3);
    for (const point of pointsOf(startSteps, ENDS)) {
      test(`a start ${kind} that fails or is killed ${point.when} ${point.name} leaves nothing, and can be tried again`, async () => {
        await capture(memory);
        const spec = specFrom(memory);
        failAt(point);
        expect(await failure(machine.boot(spec))).toContain("injected");
        expect((await machine.driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([source.spec.sandboxId]);
        await dieAt(point, memory, spec);
        for (const handle of await machine.driver.list()) if (handle.sandboxId === spec.sandboxId) await machine.driver.destroy(handle);
        const fork = await machine.boot(spec);
        await initAgent(await machine.driver.address(fork));
        if (memory) await goesOn(fork);
      });
    }
  }

  for (const memory of [true, false]) {
    for (const point of pointsOf(memory ? rollBackToMemorySteps : rollBackToDiskSteps.slice(1, 4), ENDS)) {
      const kind = memory ? "with memory" : "to the disk alone";
      test(`a rollback ${kind} that fails or is killed ${point.when} ${point.name} leaves it paused as it was`, async () => {
        const { spec, handle } = await counting();
        await machine.driver.snapshots.capture(handle, { id: "s", memory }, never);
        await exec(await machine.driver.address(handle), "echo later > /root/later");
        await machine.driver.pause(handle, { memory: true }, never);
        const rollback = { ...spec, incarnation: 2, from: { snapshot: "s", memory } };
        failAt(point);
        expect(await failure(machine.driver.resume(rollback, { memory }, never))).toContain("injected");
        expect((await machine.driver.inspect(handle)).phase).toBe("paused");
        await dieAt(point, memory, { ...rollback, incarnation: 3 });
        await machine.driver.revert(spec.sandboxId);
        const own = await machine.driver.resume({ ...spec, incarnation: 4 }, { memory: true }, never);
        await initAgent(await machine.driver.address(own));
        expect((await exec(await machine.driver.address(own), "cat /root/later")).output).toBe("later\n");
        await goesOn(own);
      });
    }
  }

  test.each([
    ["fails at once", "exit 1", "exit 1"],
    ["reports success and does nothing", "exit 0", "exit 0"],
    ["hangs before it does anything", "exec sleep 1000", "exec sleep 1000"],
    // A kill in the middle of a dump can end a command of the source (docs/limitations.md); checkpoint/faults.root.test.ts tests that.
    ["is killed", ...["pre-dump", "pre-restore"].map((moment) => whileSeized("kill -KILL", moment))],
  ])("by a CRIU that %s: a capture fails and the source runs on; a start fails and leaves nothing", async (_how, forCapture, text) => {
    await withCriu(machine, forCapture as string, async () => {
      expect(await failure(capture())).not.toBe("resolved");
      await goesOn(source.handle);
    });
    await capture();
    await withCriu(machine, text as string, async () => {
      expect(await failure(machine.boot(specFrom()))).not.toBe("resolved");
      expect((await machine.driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([source.spec.sandboxId]);
    });
    await isUsable(true);
  });

  test("after a restart, a sandbox that a capture froze is thawed, one that was frozen before is not", async () => {
    for (const wasFrozen of [false, true]) {
      await machine.driver.freeze(source.handle);
      const half = join(machine.dataDir, "pool/snapshots/half");
      mkdirSync(half);
      writeFileSync(join(half, "attempt.json"), JSON.stringify({ sandboxId: source.spec.sandboxId, wasFrozen }));
      await machine.reopen();
      expect((await machine.driver.inspect(source.handle)).frozen).toBe(wasFrozen);
    }
    await machine.driver.thaw(source.handle);
  });

  test("commands that were frozen before a capture stay frozen, and go on in a fork", async () => {
    const address = await machine.driver.address(source.handle);
    expect((await fetch(`http://${address.host}:${address.agentPort}/freeze`, { method: "POST" })).status).toBe(204);
    await capture();
    const kept = (handle: SandboxHandle) => readFileSync(`/proc/${machine.initPid(handle)}/root/root/count`, "utf8");
    const seen = kept(source.handle);
    const fork = await machine.boot(specFrom());
    expect([kept(source.handle), kept(fork)]).toEqual([seen, seen]);
    await initAgent(await machine.driver.address(fork));
    await goesOn(fork);
    expect(kept(source.handle)).toBe(seen);
    await machine.driver.thaw(source.handle);
  });
});
