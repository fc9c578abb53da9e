import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { isAlive } from "../runtime/process.ts";
import { readInstance } from "../setup/index.ts";
import { readRecord } from "../state/record.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { pointsOfAll } from "../testing/points.ts";
import { testProgram } from "../testing/test-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { KEEP_FROZEN } from "./pause.ts";
import { wakeSteps } from "./wake.ts";

/** Counts in memory, holds a connection to itself, and has a child of its own. */
const PROGRAM = `
import os, socket, subprocess, time
tcp = socket.create_server(("127.0.0.1", 7000)); client = socket.create_connection(("127.0.0.1", 7000)); peer, _ = tcp.accept()
child = subprocess.Popen(["sleep", "1000"]); peer.setblocking(False); n = 0
while True:
    n += 1
    try: peer.recv(1); state = "closed"
    except BlockingIOError: state = "open"
    except OSError: state = "closed"
    with open("/root/new", "w") as file: file.write(f"{n} {state} {child.poll()}")
    os.rename("/root/new", "/root/count"); time.sleep(0.02)
`;

describe("a paused sandbox that stays in memory", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  let spec: SandboxSpec;
  let handle: SandboxHandle;
  beforeAll(async () => {
    machine.wakeCache = { lingerMs: 300_000 };
    await machine.reopen();
  }, 600_000);
  beforeEach(() => boot());
  afterEach(async () => {
    machine.faults.before = () => {};
    machine.faults.after = () => {};
    await machine.destroyAll();
    expect(readdirSync(join(machine.dataDir, "pool/generations"))).toEqual([]);
  }, 60_000);

  const boot = async (resources?: Partial<SandboxSpec["resources"]>) => {
    spec = machine.spec(resources);
    handle = await machine.boot(spec);
    await init(handle);
    await exec(await machine.driver.address(handle), `cat > /root/program.py <<'END'\n${PROGRAM}\nEND`);
    await startUnread(await machine.driver.address(handle), "exec python3 /root/program.py");
    await eventually("it counts", async () => (await counted(handle))[0] > 1);
  };
  const init = async (of: SandboxHandle) => initAgent(await machine.driver.address(of));
  const counted = async (of: SandboxHandle): Promise<[number, string, string]> => {
    const [n = "0", state = "", child = ""] = (await exec(await machine.driver.address(of), "cat /root/count")).output.split(" ");
    return [Number(n), state, child];
  };
  const pause = (of = handle, memory = true) => machine.driver.pause(of, { memory }, never);
  const resume = (incarnation: number, memory = true) => machine.driver.resume({ ...spec, incarnation }, { memory }, never);
  const recordNow = (of = spec) => readRecord(join(machine.dataDir, "sandboxes", of.sandboxId, "state.json"));
  const stands = () => {
    const { process } = recordNow() ?? {};
    return process !== undefined && isAlive(process);
  };
  const cgroup = (of = spec) => join(findHierarchies().unified, `boxyard-${readInstance(machine.dataDir)?.instance}`, of.sandboxId);
  const goesOn = async (of: SandboxHandle) => {
    await init(of);
    const [seen] = await counted(of);
    await eventually("it counts on", async () => (await counted(of))[0] > seen);
    // As after a restore.
    await eventually("its connection is closed", async () => (await counted(of))[1] === "closed");
    expect((await counted(of))[2]).toBe("None");
  };
  const isGone = () => eventually("its processes are gone", () => !stands() && !existsSync(cgroup()));

  test("wakes with the same processes, as often as it is paused, and its commands wait for /init", async () => {
    const pid = machine.initPid(handle);
    for (let incarnation = 2; incarnation < 5; incarnation++) {
      await pause(handle);
      expect([stands(), (await machine.driver.inspect(handle)).phase]).toEqual([true, "paused"]);
      const adjusted = readFileSync(`/proc/${pid}/oom_score_adj`, "utf8").trim();
      handle = await resume(incarnation);
      // The agent answers, but its commands wait for its initialisation.
      const commands = join(cgroup(), "user/cgroup.events");
      expect([adjusted, machine.initPid(handle), readFileSync(commands, "utf8")]).toEqual(["1000", pid, "populated 1\nfrozen 1\n"]);
      expect(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8").trim()).not.toBe("1000");
      expect((await machine.driver.generation(spec.sandboxId))?.incarnation).toBe(incarnation - 1);
      await goesOn(handle);
      await machine.driver.dropGeneration(handle);
    }
  });

  test("cannot be reached while it is paused", async () => {
    const { host } = await machine.driver.address(handle);
    await pause();
    const probe = fetch(`http://${host}:49983/health`, { signal: AbortSignal.timeout(300) }).then(
      () => "answered",
      () => "silent",
    );
    expect(await probe).toBe("silent");
    handle = await resume(2);
    await goesOn(handle);
  });

  test("boots from its disk when asked to, and does not stay in memory after a pause without memory", async () => {
    await pause();
    handle = await resume(2, false);
    await init(handle);
    expect((await exec(await machine.driver.address(handle), "cat /proc/[0-9]*/comm | grep -c python3")).output).toBe("0\n");
    await pause(handle, false);
    expect(stands()).toBe(false);
  });

  test.each(["a revert", "a kill", "another server"])("ends by %s", async (how) => {
    await pause();
    const of = spec;
    if (how === "a revert") await machine.driver.revert(of.sandboxId);
    else if (how === "a kill") await machine.driver.destroy(handle);
    else await machine.reopen();
    await isGone();
    if (how !== "a kill") await goesOn(await resume(2));
  });

  test("of a server that was killed is ended by the next server, and resumed from its image", async () => {
    const { process } = recordNow() ?? {};
    await machine.close();
    await dieAt("after", KEEP_FROZEN, true, spec, "300000");
    expect(process && isAlive(process)).toBe(true);
    await machine.reopen();
    await isGone();
    await goesOn(await resume(2));
  });

  test("is dropped when its memory is wanted, but not while it wakes", async () => {
    await pause();
    expect(await machine.driver.reclaim({ memoryBytes: 0, processes: 0 })).toBe(false);
    expect(await machine.driver.reclaim({ memoryBytes: 1, processes: 0 })).toBe(true);
    expect([stands(), existsSync(cgroup())]).toEqual([false, false]);
    handle = await resume(2);
    await goesOn(handle);
    await machine.driver.dropGeneration(handle);
    await pause(handle);
    machine.faults.after = async (step) => {
      if (step === "takeOver") expect(await machine.driver.reclaim({ memoryBytes: 1, processes: 1 })).toBe(false);
    };
    await goesOn(await resume(3));
  });

  test("wakes once when two resumes are asked for at once", async () => {
    await pause();
    const both = await Promise.allSettled([resume(2), resume(3)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await goesOn({ ...handle, incarnation: 2 });
  });

  test("is resumed from its image when one of its processes is missing", async () => {
    await pause();
    const victim = userProcesses().find((pid) => readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n") as number;
    process.kill(victim, "SIGKILL");
    await eventually("it is gone", () => !userProcesses().includes(victim));
    const before = machine.initPid(handle);
    handle = await resume(2);
    expect(machine.initPid(handle)).not.toBe(before);
    await goesOn(handle);
  });
  const userProcesses = (): number[] =>
    readdirSync(join(cgroup(), "user"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) =>
        readFileSync(join(cgroup(), "user", name, "cgroup.procs"), "utf8")
          .split("\n")
          .filter(Boolean)
          .map(Number),
      );

  test("is not kept beyond the budget of memory or the time limit", async () => {
    const of = machine.wakeCache;
    try {
      for (const limits of [{ lingerMs: 0 }, { lingerMs: 300_000, budgetBytes: 1 << 20 }, { lingerMs: 1, budgetBytes: 1 << 30 }]) {
        machine.wakeCache = limits;
        await machine.reopen();
        await pause();
        await isGone();
        handle = await resume(handle.incarnation + 1);
        await goesOn(handle);
        await machine.driver.dropGeneration(handle);
      }
    } finally {
      machine.wakeCache = of;
      await machine.reopen();
    }
  });

  const dieAt = async (when: string, step: string, memory: boolean, of: SandboxSpec, lingerMs: string) => {
    const argv = [process.execPath, testProgram("die-at-pause"), machine.dataDir, when, step, String(memory), JSON.stringify(of), lingerMs];
    const child = Bun.spawn(argv, { stdout: "ignore", stderr: "inherit" });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  };

  for (const { when, name: step } of pointsOfAll(wakeSteps)) {
    test(`whose wake fails ${when} ${step} is resumed from its image, disk included`, async () => {
      await pause();
      const before = machine.initPid(handle);
      machine.faults[when] = (name) => {
        if (name === step) throw new Error("injected");
      };
      handle = await resume(2);
      expect(machine.initPid(handle)).not.toBe(before);
      await goesOn(handle);
    });

    test(`whose server is killed ${when} ${step} of its wake is paused`, async () => {
      await machine.close();
      // A pause and a resume in one process, which is killed during the resume.
      await dieAt(when, step, true, { ...spec, incarnation: 1 }, "300000");
      await machine.reopen();
      expect((await machine.driver.revert(spec.sandboxId)).incarnation).toBe(1);
      await isGone();
      await goesOn(await resume(3));
    });
  }

  for (const when of ["before", "after"] as const) {
    test(`whose ${KEEP_FROZEN} fails ${when} is paused without staying in memory`, async () => {
      machine.faults[when] = (name) => {
        if (name === KEEP_FROZEN) throw new Error("injected");
      };
      await pause();
      machine.faults[when] = () => {};
      expect([(await machine.driver.inspect(handle)).phase, stands()]).toEqual(["paused", false]);
      await goesOn(await resume(2));
    });
  }
});
