import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ commands }) => {
    const pieces = [];
    const at = [];
    const onStdout = (text) => {
      pieces.push(text);
      at.push(Date.now());
    };
    const result = await commands.run("for i in 1 2 3; do echo $i; sleep 0.4; done", { onStdout });
    assert.equal(pieces.join(""), "1\n2\n3\n");
    assert.equal(result.stdout, "1\n2\n3\n");
    // Output comes while the command runs, not at its end.
    assert.ok(at.at(-1) - at[0] > 500, `all output within ${at.at(-1) - at[0]} ms`);

    const errors = [];
    await commands.run("echo bad >&2", { onStderr: (text) => errors.push(text) });
    assert.equal(errors.join(""), "bad\n");

    const big = await commands.run("head -c 3000000 /dev/zero | tr '\\0' 'x'");
    assert.equal(big.stdout.length, 3_000_000);
    const letters = await commands.run("printf 'žluťoučký 🐎 %.0s' $(seq 5000)");
    assert.equal(letters.stdout, "žluťoučký 🐎 ".repeat(5000));
  });
}
