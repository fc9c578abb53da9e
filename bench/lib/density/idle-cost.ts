import { readdirSync, readFileSync } from "node:fs";
import { processCpuMs } from "@boxyard/core/node";
import type { Platform } from "@boxyard/testkit";
import { childrenOf } from "../../../e2e/support/processes.ts";
import { Usage } from "../trace/usage.ts";

/** What processes have used so far. */
interface Counters {
  readonly cpuMs: number;
  /** How often their threads have gone to sleep, which is how often something has woken them. */
  readonly sleeps: number;
}

/** What processes use while nobody asks anything of them. */
export interface IdleCost {
  readonly percentOfCore: number;
  readonly wakeUpsPerSecond: number;
}

/** `server`: the server's own process; `helpers`: those that it has started; `sandboxes`: all that live in sandboxes. */
export type Party = "server" | "helpers" | "sandboxes";

/** What each party uses over so many seconds, in which the caller asks nothing of the platform. */
export async function idleCost(platform: Platform, seconds: number): Promise<Readonly<Record<Party, IdleCost>>> {
  const usage = new Usage(platform);
  const server = [String(platform.pid)];
  const inSandboxes = usage.pidsOf("");
  const lives = new Set(inSandboxes);
  const helpers = descendantsOf(platform.pid).filter((pid) => !lives.has(pid));
  const parties = { server, helpers, sandboxes: inSandboxes };
  const startedAt = performance.now();
  const before = mapOf(parties, sumOf);
  await Bun.sleep(seconds * 1000);
  const after = mapOf(parties, sumOf);
  const ms = performance.now() - startedAt;
  return mapOf(parties, (_, party) => ({
    percentOfCore: ((after[party].cpuMs - before[party].cpuMs) / ms) * 100,
    wakeUpsPerSecond: ((after[party].sleeps - before[party].sleeps) / ms) * 1000,
  }));
}

function mapOf<T>(parties: Readonly<Record<Party, readonly string[]>>, of: (pids: readonly string[], party: Party) => T): Record<Party, T> {
  return {
    server: of(parties.server, "server"),
    helpers: of(parties.helpers, "helpers"),
    sandboxes: of(parties.sandboxes, "sandboxes"),
  };
}

const sumOf = (pids: readonly string[]): Counters => ({
  cpuMs: pids.reduce((sum, pid) => sum + processCpuMs(pid), 0),
  sleeps: pids.reduce((sum, pid) => sum + sleepsOf(pid), 0),
});

/** Of the living threads of a process; 0 when it has ended. */
function sleepsOf(pid: string): number {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((task) => Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/task/${task}/status`, "utf8"))?.[1]))
      .reduce((sum, sleeps) => sum + sleeps, 0);
  } catch {
    return 0;
  }
}

const descendantsOf = (pid: number): string[] => childrenOf(pid).flatMap((child) => [String(child), ...descendantsOf(child)]);
