// Runs the cases in a browser: bundled, loaded by a page of another origin than the platform's.
import * as sdk from "@boxyard/sdk";
import { CASES, type Subject } from "./cases/index.ts";

const { options } = (await (await fetch("/options")).json()) as { options: Subject["options"] };
const results: [name: string, problem: string][] = [];
for (const [name, run] of CASES) {
  try {
    const sandbox = await sdk.Sandbox.create({ ...options, envs: { FROM_SANDBOX: "yes" } });
    try {
      await run({ sdk, sandbox, options });
    } finally {
      await sandbox.kill();
    }
    results.push([name, ""]);
  } catch (error) {
    results.push([name, String((error as Error).stack ?? error)]);
  }
  await fetch("/progress", { method: "POST", body: name });
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
