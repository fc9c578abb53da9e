// Runs the cases with Node's own runner, against the built package, whose path is the last argument.
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { CASES } from "./cases/index.ts";

const sdk = await import(process.argv.at(-1) as string);
const { apiUrl, apiKey } = sdk.resolveConfig();

// Each has a sandbox of its own, and waits more than it works.
describe("the built package", { concurrency: 3 }, () => {
  for (const [name, run] of CASES) {
    it(name, async () => {
      try {
        await runCase(run);
      } catch (error) {
        // The runner's report leaves the causes of an error out, such as that of a "fetch failed".
        console.error(`${name}: ${inspect(error)}`);
        throw error;
      }
    });
  }
});

async function runCase(run: (typeof CASES)[number][1]): Promise<void> {
  const sandbox = await sdk.Sandbox.create({ envs: { FROM_SANDBOX: "yes" } });
  try {
    await run({ sdk, sandbox, options: { apiUrl, apiKey } });
  } finally {
    await sandbox.kill();
  }
}
