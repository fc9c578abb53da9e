import { Sandbox } from "@boxyard/sdk";
import { ensureCodeInterpreter } from "../../e2e/support/code-interpreter.ts";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { summarize } from "../lib/stats.ts";

const ROUNDS = 10;
const PORT = 49999;
const CELL = "sum(range(10))";
const RESULT = "45";

export const codeInterpreter: Bench = {
  name: "code-interpreter",
  promises: [17],
  what: "create of the code interpreter, whose kernel comes from memory, to the result of the first cell (--count)",
  async run(platform, count = ROUNDS): Promise<BenchResult> {
    await ensureCodeInterpreter(platform);
    const [created, first]: [number[], number[]] = [[], []];
    for (let round = 0; round < count; round++) {
      const startedAt = performance.now();
      const sandbox = await Sandbox.create("code-interpreter", { apiUrl: platform.apiUrl, apiKey: platform.apiKey });
      try {
        created.push(performance.now() - startedAt);
        await runCell(sandbox);
        first.push(performance.now() - startedAt);
      } finally {
        await sandbox.kill();
      }
    }
    const cells = summarize(first);
    return {
      series: { create: summarize(created), "create to the first cell's result": cells },
      verdicts: [atMost("create to the first cell's result, p50", cells.p50, 600)],
      notes: [],
    };
  },
};

/** Runs a cell as clients do (docs/contract/code-interpreter.md): the answer is a stream of JSON objects, one a line. */
async function runCell(sandbox: Sandbox): Promise<void> {
  const body = JSON.stringify({ code: CELL });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${sandbox.getUrl(PORT)}/execute`, { method: "POST", headers, body });
  const text = await response.text();
  if (!text.split("\n").some((line) => line.includes('"result"') && line.includes(RESULT))) {
    throw new Error(`the cell's result is missing: ${response.status} ${text}`);
  }
}
