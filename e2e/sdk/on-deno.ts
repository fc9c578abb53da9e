// Runs the cases on Deno, against the built package, whose path is the last argument. Prints each failure and, last, how many passed.
import { CASES } from "./cases/index.ts";

/** Each has a sandbox of its own, and waits more than it works. */
const AT_ONCE = 3;

const sdk = await import(process.argv.at(-1) as string);
const { apiUrl, apiKey } = sdk.resolveConfig();
const queue = CASES.values();
let passed = 0;
const work = async () => {
  for (const [name, run] of queue) {
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
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log(`${passed} passed`);
