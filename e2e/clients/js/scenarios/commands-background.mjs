import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ commands }) => {
    const handle = await commands.run("echo started; sleep 300", { background: true });
    assert.ok(handle.pid > 0);
    await eventually("output of the background command", () => handle.stdout === "started\n");
    const listed = (await commands.list()).find((entry) => entry.pid === handle.pid);
    assert.ok(listed, "the running command is listed");
    assert.equal(listed.cmd, "/bin/bash");
    assert.ok(listed.args.at(-1).includes("sleep 300"));

    const other = await commands.connect(handle.pid);
    assert.equal(await handle.kill(), true);
    await assert.rejects(other.wait(), client.CommandExitError);
    await assert.rejects(handle.wait(), client.CommandExitError);
    await eventually("the killed command is not listed", async () => !(await commands.list()).some(({ pid }) => pid === handle.pid));
    assert.equal(await commands.kill(handle.pid), false);

    const done = await commands.run("sleep 0.2; echo done; exit 0", { background: true });
    assert.deepEqual([(await done.wait()).stdout, done.exitCode], ["done\n", 0]);

    // A command goes on when the client that started it has gone.
    const left = await commands.run("sleep 0.5; echo late > /tmp/late", { background: true });
    await left.disconnect();
    await eventually("the file that the command writes", async () => (await commands.run("cat /tmp/late || true")).stdout === "late\n");
  });
}
