import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ commands }) => {
    const cat = await commands.run("cat", { background: true, stdin: true });
    await commands.sendStdin(cat.pid, "first\n");
    await eventually("the first line", () => cat.stdout === "first\n");
    await commands.sendStdin(cat.pid, "second\n");
    await commands.closeStdin(cat.pid);
    assert.equal((await cat.wait()).stdout, "first\nsecond\n");

    // Without stdin a command that reads sees the end at once.
    assert.equal((await commands.run("cat; echo over")).stdout, "over\n");
  });
}
