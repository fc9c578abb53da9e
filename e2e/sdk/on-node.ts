// Runs the cases with Node's own runner, against the built package, whose path is the last argument.
import { test } from "node:test";
import { CASES } from "./cases.ts";

const sdk = await import(process.argv.at(-1) as string);

for (const [name, run] of CASES) {
  test(name, async () => {
    const sandbox = await sdk.Sandbox.create({ envs: { FROM_SANDBOX: "yes" } });
    try {
      await run({ sdk, sandbox });
    } finally {
      await sandbox.kill();
    }
  });
}
