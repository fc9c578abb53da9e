import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { processStat } from "@boxyard/core/process-stat";
import { eventually, settledDifferences, takeSnapshot } from "@boxyard/testkit";
import { findHierarchies, mountPoints } from "./cgroup/hierarchies.ts";
import { REMOVALS } from "./sandbox/teardown.ts";
import { readInstance } from "./setup/index.ts";
import { createSteps, startSteps } from "./steps/index.ts";
import { pointsOfAll } from "./testing/points.ts";
import { testProgram } from "./testing/test-program.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

const STEPS = [...createSteps, ...startSteps].map((step) => step.name);

/** Process id of the fork server of the driver that is open here. */
function forkServerPid(): number {
  const children = readdirSync("/proc/self/task").flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" "));
  const found = children.find((pid) => pid && readFileSync(`/proc/${pid}/comm`, "utf8") === "fork-server\n");
  if (found === undefined) throw new Error("there is no fork server");
  return Number(found);
}

/** A failure at any step leaves nothing; a `kill -9` at any step leaves what `list` names and `destroy` removes. */
describe("a create or start that is cut off", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();

  afterEach(() => {
    delete machine.faults.before;
    delete machine.faults.after;
  });

  /** Everything of `id` that is left on the machine. */
  const traces = (id: SandboxId): string[] => {
    const { dataDir } = machine;
    const instance = readInstance(dataDir)?.instance;
    const directories = [
      ...mountPoints(findHierarchies()).map((point) => join(point, `boxyard-${instance}`, id)),
      join(dataDir, "sandboxes", id),
      join(dataDir, "run/runtime", id),
      join(dataDir, "pool/sandboxes", id),
    ].filter((path) => existsSync(path));
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").includes(id) ? ["a mount"] : [];
    return [...directories, ...mounts, ...processesOf(instance, id)];
  };

  for (const { when, name: step } of [...pointsOfAll(createSteps), ...pointsOfAll(startSteps)]) {
    test(`by a failure ${when} ${step} leaves nothing`, async () => {
      await volumesReady(machine.dataDir);
      const openBefore = openDescriptors();
      machine.faults[when] = (name) => {
        if (name === step) throw new Error("injected");
      };
      const spec = machine.spec();
      const error = await machine.boot(spec).catch((e: unknown) => e);
      expect(String(error)).toContain("injected");
      expect(await machine.driver.list()).toEqual([]);
      expect(traces(spec.sandboxId)).toEqual([]);
      await volumesReady(machine.dataDir);
      await eventually("what was opened is closed", () => openDescriptors() <= openBefore + 1);
    });

    test(`by kill -9 ${when} ${step} leaves what can be found and removed`, async () => {
      await machine.close();
      const id = await dieAt(machine.dataDir, when, step);
      await machine.reopen();
      expect((await machine.driver.list()).map((handle) => handle.sandboxId)).toEqual([id]);
      await machine.destroyAll();
      expect(await machine.driver.list()).toEqual([]);
      expect(traces(id)).toEqual([]);
      // The id is free again: a sandbox can be made with it.
      const handle = await machine.boot({ ...machine.spec(), sandboxId: id });
      await machine.driver.destroy(handle);
    });
  }

  // The steps that have orders for the fork server.
  for (const step of ["create", "limits"]) {
    test(`by the end of the fork server during ${step} fails, can be tried again, and leaves nothing`, async () => {
      const pid = forkServerPid();
      machine.faults.before = (name) => {
        if (name !== step) return;
        // Stopped first, so that the order is under way when the fork server ends.
        process.kill(pid, "SIGSTOP");
        setTimeout(() => process.kill(pid, "SIGKILL"), 10);
      };
      const spec = machine.spec();
      const error = await machine.boot(spec).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "unavailable", reason: "fork_server_ended" });
      expect(await machine.driver.list()).toEqual([]);
      expect(traces(spec.sandboxId)).toEqual([]);
      delete machine.faults.before;
      const handle = await machine.boot(spec);
      expect(forkServerPid()).not.toBe(pid);
      await machine.driver.destroy(handle);
    });
  }

  test("sandboxes go on when the fork server ends", async () => {
    const handle = await machine.boot();
    process.kill(forkServerPid(), "SIGKILL");
    expect(await machine.driver.inspect(handle)).toMatchObject({ phase: "running" });
    // A create that reaches the fork server while it ends fails, and can be tried again.
    const other = await machine.boot().catch((error: unknown) => {
      expect(error).toMatchObject({ code: "unavailable", reason: "fork_server_ended" });
      return machine.boot();
    });
    for (const one of [handle, other]) await machine.driver.destroy(one);
  });

  test("by its signal, at any step, leaves nothing", async () => {
    for (const step of STEPS) {
      const abort = new AbortController();
      const reason = new Error(`given up at ${step}`);
      machine.faults.before = (name) => {
        if (name === step) abort.abort(reason);
      };
      const spec = machine.spec();
      const error = await machine.driver
        .create(spec, abort.signal)
        .then((handle) => machine.driver.start(handle, abort.signal))
        .catch((e: unknown) => e);
      // The signal is checked before each step, so an abort in the last step of a create ends the start.
      expect(error).toBe(reason);
      await machine.driver.destroy({ driver: "local", sandboxId: spec.sandboxId, incarnation: 1 });
      expect([step, traces(spec.sandboxId)]).toEqual([step, []]);
    }
  });

  for (const when of ["before", "after"] as const) {
    for (const removal of REMOVALS) {
      /** After the last removal nothing is left. */
      const isOver = when === "after" && removal === REMOVALS.at(-1);

      test(`by a failure ${when} ${removal} of a removal is reported and leaves what the next removal finds`, async () => {
        const handle = await machine.boot();
        machine.faults[when] = (name) => {
          if (name === removal) throw new Error("injected");
        };
        const error = await machine.driver.destroy(handle).catch((e: unknown) => e);
        expect(String(error)).toContain("injected");
        expect(await machine.driver.list()).toEqual(isOver ? [] : [handle]);
        delete machine.faults[when];
        await machine.driver.destroy(handle);
        expect(await machine.driver.list()).toEqual([]);
        expect(traces(handle.sandboxId)).toEqual([]);
      });

      test(`by kill -9 ${when} ${removal} of a removal leaves what can be found and removed`, async () => {
        await machine.close();
        const id = await dieAt(machine.dataDir, when, removal);
        await machine.reopen();
        expect((await machine.driver.list()).map((handle) => handle.sandboxId)).toEqual(isOver ? [] : [id]);
        await machine.destroyAll();
        expect(await machine.driver.list()).toEqual([]);
        expect(traces(id)).toEqual([]);
      });
    }
  }

  test("leaves the machine as before after a hundred of them, at every step and every removal", async () => {
    await machine.driver.destroy(await machine.boot()); // Makes what is made once and stays.
    await volumesReady(machine.dataDir);
    const before = takeSnapshot();
    const files = filesOf(machine.dataDir);
    const descriptors = openDescriptors();
    for (let i = 0; i < 100; i++) {
      const step = [...STEPS, ...REMOVALS][i % (STEPS.length + REMOVALS.length)];
      let injected = false;
      machine.faults.after = (name) => {
        if (name !== step || injected) return;
        injected = true;
        throw new Error("injected");
      };
      const handle = await machine.boot().catch(() => undefined);
      expect(handle === undefined).toBe(STEPS.includes(`${step}`));
      if (handle) await machine.driver.destroy(handle).catch(() => machine.driver.destroy(handle));
      expect([step, injected]).toEqual([step, true]);
    }
    delete machine.faults.after;
    expect(await machine.driver.list()).toEqual([]);
    // Mounts, loop devices, links (the router's too), tables, cgroups, processes, owner and mode of the machine's device nodes.
    expect(await settledDifferences(machine.dataDir, before)).toEqual([]);
    expect(filesOf(machine.dataDir)).toEqual(files);
    await eventually("no descriptor more than before", () => openDescriptors() <= descriptors);
  });
});

/** Volumes for the next creates are made in the background, with open descriptors: tests that count those wait for the volumes. */
const volumesReady = (dataDir: string) =>
  eventually("the next volumes are ready", () => readdirSync(`${dataDir}/pool/ready-volumes`).length >= 4);

/** Every file and directory of the data directory but what templates hold, which no sandbox may change, and the volumes of the next creates. */
function filesOf(dataDir: string): string[] {
  const leftOut = ["-path", "*/pool/layers/*", "-o", "-path", "*/pool/ready-volumes/*"];
  const found = Bun.spawnSync(["find", dataDir, "(", ...leftOut, ")", "-prune", "-o", "-print"]).stdout.toString();
  expect(found).toContain("/pool/layers");
  return found.split("\n").sort();
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

async function dieAt(dataDir: string, when: string, step: string): Promise<SandboxId> {
  const child = Bun.spawn([process.execPath, testProgram("die-at-step"), dataDir, when, step], { stdout: "pipe", stderr: "inherit" });
  const id = (await new Response(child.stdout).text()).trim();
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  return id as SandboxId;
}

/** Processes in the sandbox's cgroup; zombies that the machine's init has not reaped do not count. */
function processesOf(instance: string | undefined, id: SandboxId): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      if (!readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(`/boxyard-${instance}/${id}`)) return [];
      return processStat(Number(pid)) ? [`process ${pid}: ${readFileSync(`/proc/${pid}/cmdline`, "utf8")}`] : [];
    } catch {
      return [];
    }
  });
}
