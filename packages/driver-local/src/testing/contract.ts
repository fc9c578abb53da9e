import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { type ContractSubject, driverContract } from "@boxyard/driver/contract-suite";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import { readInstance } from "../setup/index.ts";
import { hasErrno } from "../sys/libc.ts";
import { TestMachine } from "./machine.ts";

/** The contract's suite on the real driver, with `runtime`; with `lingerMs`, paused sandboxes stay in memory for a quick wake. */
export const localDriverContract = (runtime: RuntimeName, lingerMs = 0) =>
  driverContract(`local, ${runtime}`, () => makeSubject(runtime, lingerMs));

async function makeSubject(runtime: RuntimeName, lingerMs: number): Promise<ContractSubject> {
  const machine = await TestMachine.make(runtime);
  machine.wakeCache = { lingerMs };
  await machine.reopen();
  const cgroup = join(findHierarchies().unified, `boxyard-${readInstance(machine.dataDir)?.instance}`);
  return {
    get driver() {
      return machine.driver;
    },
    spec: () => machine.spec(),
    reopen: () => machine.reopen(),
    endAgent: async (handle) => void process.kill(machine.agentPid(handle), "SIGKILL"),
    leaveHalfMade: async () => {
      await machine.close();
      const script = join(import.meta.dir, "die-at-step.ts");
      const child = Bun.spawn([process.execPath, script, machine.dataDir, "before", "create"], { stdout: "pipe", stderr: "inherit" });
      const sandboxId = (await new Response(child.stdout).text()).trim() as SandboxId;
      await child.exited;
      return { driver: "local", sandboxId, incarnation: 1 };
    },
    breakStarts: () => {
      machine.faults.before = async (step) => {
        if (step !== "awaitAgent" && step !== "awaitThawed") return;
        // Frozen before its agent can answer, so that no start succeeds.
        for (const handle of await machine.driver.list()) freeze(join(cgroup, handle.sandboxId));
      };
    },
    mend: () => {
      delete machine.faults.before;
    },
    dispose: () => machine.dispose(),
  };
}

function freeze(directory: string): void {
  try {
    writeFileSync(join(directory, "cgroup.freeze"), "1");
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}
