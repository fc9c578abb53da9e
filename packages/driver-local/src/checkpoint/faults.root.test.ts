import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";
import { withCriu } from "../testing/other-criu.ts";
import { FREES, pauseSteps } from "./pause.ts";
import { rebootSteps, restoreSteps } from "./resume.ts";

/** Every step of a pause and of a resume fails once and is killed once: no sandbox is lost, nothing is left over, and the next call works. */
describe("a pause or a resume that is cut off", () => {
  setDefaultTimeout(60_000);
  let machine: TestMachine;
  let spec: SandboxSpec;
  beforeAll(async () => {
    machine = await TestMachine.make();
  }, 600_000);
  afterEach(async () => {
    machine.faults.before = () => {};
    machine.faults.after = () => {};
    await machine.destroyAll();
    expect(readdirSync(join(machine.dataDir, "pool/generations"))).toEqual([]);
  }, 60_000);
  afterAll(() => machine?.dispose(), 60_000);

  /** A sandbox with a loop that counts. */
  const counting = async (): Promise<SandboxHandle> => {
    spec = machine.spec();
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await startLoop(handle);
    return handle;
  };
  /** Counts from the time on, so that a later loop has the larger numbers. */
  const startLoop = async (handle: SandboxHandle) =>
    startUnread(
      await machine.driver.address(handle),
      "n=$(date +%s%3N); while n=$((n+1)); do echo $n > /root/new; mv /root/new /root/count; sleep 0.02; done",
    );
  const count = async (handle: SandboxHandle) => Number((await exec(await machine.driver.address(handle), "cat /root/count")).output);
  const goesOn = async (handle: SandboxHandle) => {
    await initAgent(await machine.driver.address(handle));
    // NaN before the loop has written for the first time.
    const seen = (await count(handle)) || 0;
    await eventually("the loop goes on", async () => (await count(handle)) > seen).catch(async (error: unknown) => {
      const look = "ps -eo pid,ppid,stat,wchan:24,etime,args; date +%s%3N; cat /root/count /root/new";
      throw new Error(`${seen}: ${(await exec(await machine.driver.address(handle), look)).output}`, { cause: error });
    });
  };
  const pause = (handle: SandboxHandle, memory = true) => machine.driver.pause(handle, { memory }, never);
  const resume = (incarnation: number, memory = true) => machine.driver.resume({ ...spec, incarnation }, { memory }, never);
  /** Whatever the sandbox is now, as a restarted server finds out, it can be used, paused and resumed with its memory. */
  const isUsable = async (handle: SandboxHandle, next: number) => {
    const { driver } = machine;
    if (await driver.generation(spec.sandboxId)) await driver.revert(spec.sandboxId);
    else {
      expect((await driver.recover(handle)).phase).toBe("running");
      await driver.thaw(handle);
      await goesOn(handle);
      await pause(handle);
    }
    await goesOn(await resume(next));
  };
  const failAt = (when: "before" | "after", step: string) => {
    machine.faults[when] = (name) => {
      if (name !== step) return;
      machine.faults[when] = () => {};
      throw new Error("injected");
    };
  };
  const dieAt = async (when: string, step: string, memory: boolean, of: SandboxSpec) => {
    await machine.close();
    const script = join(import.meta.dir, "../testing/die-at-pause.ts");
    const argv = [process.execPath, script, machine.dataDir, when, step, String(memory), JSON.stringify(of)];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    await machine.reopen();
  };

  for (const when of ["before", "after"] as const) {
    for (const step of pauseSteps.map(({ name }) => name)) {
      test(`a pause that fails ${when} ${step} lets the sandbox run on`, async () => {
        const handle = await counting();
        failAt(when, step);
        expect(String(await pause(handle).catch((e: unknown) => e))).toContain("injected");
        expect([await machine.driver.generation(spec.sandboxId), (await machine.driver.inspect(handle)).phase]).toEqual([
          undefined,
          "running",
        ]);
        expect(existsSync(join(machine.dataDir, "pool/generations", spec.sandboxId, "1"))).toBe(false);
        await isUsable(handle, 2);
      });
    }

    for (const step of [...pauseSteps.map(({ name }) => name), ...FREES]) {
      test(`a pause that is killed ${when} ${step} is whole or was not`, async () => {
        const handle = await counting();
        await dieAt(when, step, true, spec);
        await isUsable(handle, 2);
      });
    }

    for (const step of FREES) {
      test(`a pause that fails ${when} ${step}, after its generation was whole, is one`, async () => {
        const handle = await counting();
        failAt(when, step);
        await pause(handle);
        expect((await machine.driver.inspect(handle)).phase).toBe("paused");
        await goesOn(await resume(2));
      });
    }

    for (const memory of [true, false]) {
      for (const step of (memory ? restoreSteps : rebootSteps).map(({ name }) => name)) {
        test(`a resume ${memory ? "" : "from the disk "}that fails or is killed ${when} ${step} leaves it paused`, async () => {
          const handle = await counting();
          await pause(handle);
          failAt(when, step);
          expect(String(await resume(2, memory).catch((e: unknown) => e))).toContain("injected");
          expect((await machine.driver.inspect(handle)).phase).toBe("paused");
          await dieAt(when, step, memory, { ...spec, incarnation: 3 });
          await isUsable(handle, 4);
        });
      }
    }
  }

  describe("by a CRIU that", () => {
    const failsAndRunsOn = async (handle: SandboxHandle) => {
      expect((await pause(handle).catch((e: unknown) => e)) instanceof Error).toBe(true);
      expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
      await goesOn(handle);
    };

    test.each([
      ["while it writes", 'real "$@" & sleep 0.07; kill -9 0'],
      ["late", 'real "$@" & sleep 0.12; kill -9 0'],
    ])("is killed %s, perhaps within a process: a pause fails and keeps nothing, and the sandbox can be removed", async (_how, text) => {
      const handle = await counting();
      await withCriu(machine, text, async () => {
        expect((await pause(handle).catch((e: unknown) => e)) instanceof Error).toBe(true);
        expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
      });
      await machine.driver.destroy(handle);
      expect(await machine.driver.list()).toEqual([]);
      await goesOn(await counting());
    });

    test.each([
      ["fails at once", "exit 1"],
      ["lies", "exit 0"],
      ["hangs before it does anything", "exec sleep 1000"],
      ["is killed early", 'real "$@" & sleep 0.02; kill -9 0'],
      ["writes half an image", '(real "$@"); rm "$(echo "$*" | sed "s/.*--images-dir \\([^ ]*\\).*/\\1/")"/pages-2.img; exit 1'],
    ])("%s: a pause fails, and the sandbox runs on", async (_how, text) => {
      const handle = await counting();
      await withCriu(machine, text, () => failsAndRunsOn(handle));
      await isUsable(handle, 2);
    });

    test.each([
      ["fails at once", "exit 1"],
      ["lies", "exit 0"],
      ["hangs", "exec sleep 1000"],
      ["is killed", 'real "$@" & sleep 0.15; kill -9 0'],
    ])("%s: a resume fails, and the sandbox stays paused", async (_how, text) => {
      const handle = await counting();
      await pause(handle);
      await withCriu(machine, text, async () => {
        expect((await resume(2).catch((e: unknown) => e)) instanceof Error).toBe(true);
      });
      expect((await machine.driver.inspect(handle)).phase).toBe("paused");
      await isUsable(handle, 3);
    });
  });

  test("leaves no mount and no file of CRIU's", async () => {
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain("/run/images");
    expect(existsSync("/run/criu.kdat") && readFileSync("/run/criu.kdat").byteLength === 0).toBe(false);
  });
});
