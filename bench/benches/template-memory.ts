import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Template } from "@boxyard/sdk/template";
import { pushTinyImage } from "../../e2e/support/tiny-image.ts";
import { startRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import type { Bench, BenchResult } from "../lib/bench.ts";
import { addBigFiles } from "../lib/big-image.ts";
import { withTemplate } from "../lib/builds.ts";
import { peakMemoryMiB } from "../lib/bulk.ts";
import { summarize } from "../lib/stats.ts";

const MOST_MIB = 64;
const LOOK_MS = 50;

/** What fetching and unpacking a large image takes of the server's memory, which every sandbox's requests go through. */
export const templateMemory: Bench = {
  name: "template-memory",
  promises: [16],
  what: "a template of an image of 500 MB from a registry on loopback: the server's memory meanwhile",
  async run(platform): Promise<BenchResult> {
    const { apiUrl, apiKey, pid } = platform;
    await using registry = await startRegistry();
    await pushTinyImage("big", {}, { host: registry.host, addFiles: addBigFiles });
    return await withTemplate(platform, async (name) => {
      const before = peakFromNow(pid);
      await using workers = watchWorkers(pid);
      const startedAt = performance.now();
      await Template.fromImage(`${registry.host}/big`).build(name, { apiUrl, apiKey });
      const ms = performance.now() - startedAt;
      const grown = Math.round((await peakMemoryMiB(pid)) - before);
      return {
        series: { "build on the image, with the fetching": summarize([ms]) },
        verdicts: [{ promise: `memory that the server needed ≤ ${MOST_MIB} MiB`, measured: `${grown} MiB`, kept: grown <= MOST_MIB }],
        notes: [`the largest process that the server started for it had ${Math.round(workers.peakMiB)} MiB`],
      };
    });
  },
};

/** Resets the kernel's record of the peak memory; returns the memory in use, in MiB. */
function peakFromNow(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return memoryMiB(pid, "VmRSS") ?? Number.NaN;
}

function memoryMiB(pid: number, field: string): number | undefined {
  try {
    const found = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return found ? Number(found[1]) / 1024 : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the peak memory of the server's children, read every LOOK_MS. */
function watchWorkers(pid: number): AsyncDisposable & { peakMiB: number } {
  const watch = { peakMiB: 0, [Symbol.asyncDispose]: async () => clearInterval(timer) };
  const timer = setInterval(() => {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => childrenOf(pid, task));
    for (const child of children) watch.peakMiB = Math.max(watch.peakMiB, memoryMiB(child, "VmHWM") ?? 0);
  }, LOOK_MS);
  return watch;
}

function childrenOf(pid: number, task: string): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
