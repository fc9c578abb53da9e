import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    await sandbox.files.write("kept.txt", "kept");
    const endAt = (await sandbox.getInfo()).endAt.getTime();
    const same = await client.Sandbox.connect(sandbox.sandboxId, { timeoutMs: 5_000 });
    assert.equal(await same.files.read("kept.txt"), "kept");
    assert.equal((await same.commands.run("echo hi")).stdout, "hi\n");
    // Connecting never shortens a sandbox's life, and a longer timeout lengthens it.
    assert.ok((await sandbox.getInfo()).endAt.getTime() >= endAt - 1_000);
    await client.Sandbox.connect(sandbox.sandboxId, { timeoutMs: 900_000 });
    assert.ok((await sandbox.getInfo()).endAt.getTime() > endAt + 600_000);
  });
}
