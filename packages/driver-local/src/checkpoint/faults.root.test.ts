import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { readInstance } from "../setup/index.ts";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { IMAGES_OF_CRIU, killedAt, whileSeized, withCriu } from "../testing/other-criu.ts";
import { type Point, pointsOf, pointsOfAll } from "../testing/points.ts";
import { testProgram } from "../testing/test-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { FREE_STEPS, pauseSteps } from "./pause.ts";
import { rebootSteps, restoreSteps } from "./resume.ts";

const COUNT = "/root/count";

/** Every step of a pause and of a resume fails once and is killed once: no sandbox is lost, nothing is left over, and the next call works. */
describe("a pause or a resume that is cut off", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  let spec: SandboxSpec;
  afterEach(async () => {
    machine.faults.before = () => {};
    machine.faults.after = () => {};
    await machine.destroyAll();
    expect(readdirSync(join(machine.dataDir, "pool/generations"))).toEqual([]);
  }, 60_000);

  /** A sandbox with a loop that counts. */
  const counting = async (): Promise<SandboxHandle> => {
    spec = machine.spec();
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await startLoop(handle);
    return handle;
  };
  /** Begins to count at the present time, so that a later loop has larger numbers. */
  const startLoop = async (handle: SandboxHandle) => startUnread(await machine.driver.address(handle), countInto(COUNT, "$(date +%s%3N)"));
  const count = async (handle: SandboxHandle) => Number((await exec(await machine.driver.address(handle), lastCount(COUNT))).output);
  const goesOn = async (handle: SandboxHandle) => {
    await initAgent(await machine.driver.address(handle));
    // NaN before the loop has written for the first time.
    const seen = (await count(handle)) || 0;
    await eventually("the loop goes on", async () => (await count(handle)) > seen).catch(async (error: unknown) => {
      const look = "ps -eo pid,ppid,stat,wchan:24,etime,args; date +%s%3N; tail -n 5 /root/count";
      throw new Error(`${seen}: ${(await exec(await machine.driver.address(handle), look)).output}`, { cause: error });
    });
  };
  const pause = (handle: SandboxHandle, memory = true) => machine.driver.pause(handle, { memory }, never);
  const resume = (incarnation: number, memory = true) => machine.driver.resume({ ...spec, incarnation }, { memory }, never);
  /** Whether the sandbox runs or is paused now, a restarted server can use it, pause it and resume it with its memory. */
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
  const failAt = (when: Point["when"], step: string) => {
    machine.faults[when] = (name) => {
      if (name !== step) return;
      machine.faults[when] = () => {};
      throw new Error("injected");
    };
  };
  const dieAt = async (when: string, step: string, memory: boolean, of: SandboxSpec) => {
    await machine.close();
    const argv = [process.execPath, testProgram("die-at-pause"), machine.dataDir, when, step, String(memory), JSON.stringify(of)];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
    await machine.reopen();
  };

  const OTHER = "boxyard-00000000";
  /** Processes of runs of CRIU: CRIU itself and what it has started. */
  const marked = (server = `boxyard-${readInstance(machine.dataDir)?.instance}`) =>
    readdirSync("/proc").filter((pid) => {
      const path = `/proc/${pid}/environ`;
      try {
        return /^\d+$/.test(pid) && readFileSync(path, "latin1").includes(`BOXYARD_CRIU=${server}`);
      } catch {
        return false;
      }
    });

  const freeSteps = FREE_STEPS.map((name) => ({ name }));
  for (const { when, name: step } of pointsOfAll(pauseSteps)) {
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

  for (const { when, name: step } of pointsOf([...pauseSteps, ...freeSteps], ["complete", FREE_STEPS.at(-1)])) {
    test(`a pause that is killed ${when} ${step} is complete or undone`, async () => {
      const handle = await counting();
      await dieAt(when, step, true, spec);
      await isUsable(handle, 2);
    });
  }

  for (const { when, name: step } of pointsOfAll(freeSteps)) {
    test(`a pause that fails ${when} ${step}, after its generation was whole, leaves the sandbox paused`, async () => {
      const handle = await counting();
      failAt(when, step);
      await pause(handle);
      expect((await machine.driver.inspect(handle)).phase).toBe("paused");
      await goesOn(await resume(2));
    });
  }

  for (const memory of [true, false]) {
    for (const { when, name: step } of pointsOfAll(memory ? restoreSteps : rebootSteps)) {
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

  describe("by a CRIU that", () => {
    const failsAndRunsOn = async (handle: SandboxHandle) => {
      expect((await pause(handle).catch((e: unknown) => e)) instanceof Error).toBe(true);
      expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
      await goesOn(handle);
    };

    test.each([
      ["while it writes", killedAt("pages-*.img")],
      ["late", killedAt("inventory.img")],
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
      ["is killed while it holds everything", whileSeized("kill -KILL"), "exit code 137"],
      ["is stopped while it holds everything", whileSeized("kill -STOP"), "could not checkpoint the sandbox within"],
      ["leaves a child", "sleep 1000 & exit 1", "exit code 1"],
    ])("%s: a pause fails, and the sandbox runs on, alone", async (_how, text, why) => {
      const handle = await counting();
      await withCriu(machine, text, async () => {
        expect(String(await pause(handle).catch((e: unknown) => e))).toContain(why);
        expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
        await eventually("nothing is left of CRIU", () => marked().length === 0);
        await goesOn(handle);
      });
      await isUsable(handle, 2);
    });

    test.each([
      ["fails at once", "exit 1"],
      ["reports success and does nothing", "exit 0"],
      ["hangs before it does anything", "exec sleep 1000"],
      ["is killed before it holds anything", whileSeized("kill -KILL", "pre-dump")],
      ["reports success for an image that is cut off", `(real "$@"); truncate -s 4096 "$(${IMAGES_OF_CRIU})"/pages-2.img; exit 0`],
      ["writes half an image", '(real "$@"); rm "$(echo "$*" | sed "s/.*--images-dir \\([^ ]*\\).*/\\1/")"/pages-2.img; exit 1'],
    ])("%s: a pause fails, and the sandbox runs on", async (_how, text) => {
      const handle = await counting();
      await withCriu(machine, text, () => failsAndRunsOn(handle));
      await isUsable(handle, 2);
    });

    test.each([
      ["fails at once", "exit 1"],
      ["reports success and does nothing", "exit 0"],
      ["hangs", "exec sleep 1000"],
      ["is killed before it makes anything", whileSeized("kill -KILL", "pre-restore")],
      ["is killed when the namespaces are there", whileSeized("kill -KILL", "post-setup-namespaces")],
      ["is killed when the processes are there", whileSeized("kill -KILL", "post-restore")],
      ["is stopped when the processes are there", whileSeized("kill -STOP", "post-restore")],
      ["reports success and has left no process", '(real "$@" --pidfile "$0.pid"); kill -9 $(cat "$0.pid"); exit 0'],
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

  test("a new server ends children of an earlier server's CRIU that has ended; a CRIU that lives goes on", async () => {
    const start = (script: string, server = `boxyard-${readInstance(machine.dataDir)?.instance}`) =>
      Bun.spawn(["setsid", "--wait", "sh", "-c", script], { env: { ...process.env, BOXYARD_CRIU: `${server}.${script.length}` } });
    const ended = start("sleep 100 & exit 0");
    const living = start("sleep 100 & exec sleep 200");
    const others = start("sleep 100 & exit 0", OTHER);
    try {
      const count = () => [marked().length, marked(OTHER).length].join();
      await Promise.all([ended.exited, others.exited, eventually("all are there", () => count() === "3,1")]);
      await machine.reopen();
      await eventually("the orphan is gone", () => count() === "2,1");
      expect(living.exitCode).toBeNull();
    } finally {
      for (const pid of [...marked(), ...marked(OTHER)].map(Number)) process.kill(pid, "SIGKILL");
      await living.exited;
    }
  });

  test("pauses and resumes leave no mount and no file of CRIU on the machine", async () => {
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain("/run/images");
    expect(existsSync("/run/criu.kdat") && readFileSync("/run/criu.kdat").byteLength === 0).toBe(false);
  });
});
