import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { ServerLog } from "./server-log.ts";
import { assembleCreate, summarizeRuns, type Trace, type TracedStep } from "./steps.ts";
import { Usage } from "./usage.ts";

const COVERS = {
  client: "this process: the SDK and the bench",
  server: "the server's process, all its threads (getrusage)",
  children: "processes that the server has waited for: the runtime, and children made ahead for the next create",
  tracing: "what reading these counters took of the server; in no other column",
  sandbox: "processes that live in the sandbox: its init and its agent (schedstat)",
};

/** Creates, one after the other, each sandbox removed before the next; nothing else should run meanwhile. */
export async function traceCreate(platform: Platform, count: number): Promise<Trace> {
  const usage = new Usage(platform);
  const runs: TracedStep[][] = [];
  for (let run = -2; run < count; run++) {
    const log = new ServerLog(platform);
    const begin = usage.read();
    const sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    const end = usage.read();
    if (run >= 0) runs.push(assembleCreate(log.steps(), begin, end));
    await sandbox.kill();
  }
  return summarizeRuns("cold create", COVERS, runs);
}
