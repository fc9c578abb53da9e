import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ commands }) => {
    const startedAt = Date.now();
    await assert.rejects(commands.run("sleep 301 & sleep 302; wait", { timeoutMs: 700 }), client.TimeoutError);
    assert.ok(Date.now() - startedAt < 5_000);
    // The whole tree of the command has ended, not only its shell.
    const count = async () => (await commands.run("pgrep -fc 'sleep 30[12]' || true")).stdout.trim();
    await eventually("no process of the command is left", async () => ["0", "1"].includes(await count()));
    const left = (await commands.run("ps -eo args | grep -c '^sleep 30[12]' || true")).stdout.trim();
    assert.equal(left, "0");
    assert.equal((await commands.run("sleep 1; echo fine", { timeoutMs: 0 })).stdout, "fine\n");
  });
}
