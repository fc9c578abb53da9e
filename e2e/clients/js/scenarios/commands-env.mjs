import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  const options = { envs: { COLOUR: "green", SIZE: "one two", E2B_SANDBOX_ID: "mine" } };
  await withSandbox(
    client,
    async (sandbox) => {
      const { commands } = sandbox;
      assert.equal((await commands.run('echo "$COLOUR/$SIZE"')).stdout, "green/one two\n");
      assert.equal((await commands.run('echo "$COLOUR"', { envs: { COLOUR: "blue" } })).stdout, "blue\n");
      assert.equal((await commands.run('echo "$E2B_SANDBOX_ID"')).stdout, `${sandbox.sandboxId}\n`);
    },
    options,
  );
}
