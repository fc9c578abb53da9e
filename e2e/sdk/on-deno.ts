// Runs the cases on Deno, against the built package, whose path is the last argument. Prints each failure and, last, how many passed.
import { CASES } from "./cases/index.ts";

const sdk = await import(process.argv.at(-1) as string);
const { apiUrl, apiKey } = sdk.resolveConfig();
let passed = 0;
for (const [name, run] of CASES) {
  try {
    const sandbox = await sdk.Sandbox.create({ envs: { FROM_SANDBOX: "yes" } });
    try {
      await run({ sdk, sandbox, options: { apiUrl, apiKey } });
    } finally {
      await sandbox.kill();
    }
    passed++;
  } catch (error) {
    console.log(`not ok ${name}: ${(error as Error).stack ?? error}`);
  }
}
console.log(`${passed} passed`);
