import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import { type ContractSubject, driverContract, type SuiteName } from "@boxyard/driver/contract-suite";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import { readInstance } from "../setup/index.ts";
import { DataPaths } from "../state/paths.ts";
import { copyOf } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import { exec, initAgent } from "./exec.ts";
import { TestMachine } from "./machine.ts";
import { testProgram } from "./test-program.ts";

export interface LocalContract {
  /** Default: the driver's choice. */
  readonly runtime?: RuntimeName;
  /** How long paused sandboxes stay in memory for a quick wake; by default not at all. */
  readonly lingerMs?: number;
  readonly suites: readonly SuiteName[];
}

/** Suites of the contract on the real driver. */
export const localDriverContract = ({ runtime, lingerMs = 0, suites }: LocalContract) =>
  driverContract(`local, ${runtime ?? "its own runtime"}`, () => makeSubject(runtime, lingerMs), suites);

async function makeSubject(runtime: RuntimeName | undefined, lingerMs: number): Promise<ContractSubject> {
  const machine = TestMachine.unmade(runtime);
  machine.wakeCache = { lingerMs };
  await machine.setUp();
  const damage = new Damage(machine);
  const shell = new Shell(machine);
  return {
    get driver() {
      return machine.driver;
    },
    spec: () => machine.spec(),
    reopen: () => machine.reopen(),
    endAgent: async (handle) => void process.kill(machine.agentPid(handle), "SIGKILL"),
    leaveHalfMade: () => leaveHalfMade(machine),
    breakStarts: () => breakStarts(machine),
    damage: async (what) => {
      if ("sandbox" in what) damage.record(what.sandbox);
      else if ("generation" in what) damage.generation(what.generation);
      else if ("snapshot" in what) damage.snapshot(what.snapshot);
      else damage.volume(what.volume);
    },
    mend: async () => {
      delete machine.faults.before;
      damage.repair();
    },
    write: async (handle, path, text) =>
      void (await shell.run(handle, `mkdir -p "$(dirname '${path}')" && printf %s '${text}' >'${path}'`)),
    read: (handle, path) => shell.run(handle, `cat '${path}'`),
    tryToReach: async (handle, { name, address, port }, isTold) => {
      await shell.run(handle, `getent hosts ${name}; (exec 3<>/dev/tcp/${address}/${port}); true`);
      await eventually("what was tried is told", isTold);
    },
    dispose: () => machine.dispose(),
  };
}

async function leaveHalfMade(machine: TestMachine): Promise<SandboxHandle> {
  await machine.close();
  const child = Bun.spawn([process.execPath, testProgram("die-at-step"), machine.dataDir, "before", "create"], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const sandboxId = (await new Response(child.stdout).text()).trim() as SandboxId;
  await child.exited;
  return { driver: "local", sandboxId, incarnation: 1 };
}

function breakStarts(machine: TestMachine): void {
  const cgroup = join(findHierarchies().unified, `boxyard-${readInstance(machine.dataDir)?.instance}`);
  machine.faults.before = async (step) => {
    if (step !== "awaitAgent" && step !== "awaitThawed") return;
    // Frozen before its agent can answer, so that no start succeeds.
    for (const handle of await machine.driver.list()) freeze(join(cgroup, handle.sandboxId));
  };
}

function freeze(directory: string): void {
  try {
    writeFileSync(join(directory, "cgroup.freeze"), "1");
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}

/** Cuts files of the driver off in their middle, and repairs those that are still there. */
class Damage {
  private readonly machine: TestMachine;
  private readonly whole = new Map<string, Buffer>();

  constructor(machine: TestMachine) {
    this.machine = machine;
  }

  record({ sandboxId }: SandboxHandle): void {
    const state = new DataPaths(this.machine.dataDir).state(sandboxId);
    for (const path of [state, copyOf(state)]) this.cut(path);
  }

  generation({ sandboxId, incarnation }: SandboxHandle): void {
    this.cut(join(this.machine.dataDir, "pool/generations", sandboxId, String(incarnation), "generation.json"));
  }

  snapshot(id: string): void {
    this.cut(join(this.machine.dataDir, "pool/snapshots", id, "snapshot.json"));
  }

  volume(id: string): void {
    this.cut(join(this.machine.dataDir, "pool/volumes", id, "volume.json"));
  }

  repair(): void {
    for (const [path, bytes] of this.whole) if (existsSync(path)) writeFileSync(path, bytes);
    this.whole.clear();
  }

  private cut(path: string): void {
    const bytes = readFileSync(path);
    this.whole.set(path, bytes);
    writeFileSync(path, bytes.subarray(0, 50));
  }
}

/** Runs commands in sandboxes whose agents have had no `/init`. */
class Shell {
  private readonly machine: TestMachine;
  private readonly known = new Set<string>();

  constructor(machine: TestMachine) {
    this.machine = machine;
  }

  async run(handle: SandboxHandle, command: string): Promise<string> {
    const address = await this.machine.driver.address(handle);
    // Each incarnation waits for one.
    const incarnation = `${handle.sandboxId} ${handle.incarnation}`;
    if (!this.known.has(incarnation)) await initAgent(address);
    this.known.add(incarnation);
    const result = await exec(address, command);
    if (result.exitCode !== 0) throw new Error(`${command}: ${result.status} ${result.output}`);
    return result.output;
  }
}
