import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    await sandbox.setTimeout(600_000);
    const left = (await sandbox.getInfo()).endAt.getTime() - Date.now();
    assert.ok(left > 590_000 && left < 605_000, `${left} ms left`);
    await sandbox.setTimeout(1_000);
    await eventually("the sandbox has ended by itself", async () => !(await sandbox.isRunning()), 8_000);
    assert.equal(await sandbox.kill(), false);
    await assert.rejects(client.Sandbox.setTimeout(sandbox.sandboxId, 1_000), client.NotFoundError);
  });
}
