import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** Copies of a running sandbox, and snapshots that others start from: with files and processes, each under ids of its own. */
export default async function (client) {
  const { Sandbox } = client;
  await withSandbox(client, async (sandbox) => {
    if (!sandbox.fork) return;
    await sandbox.files.write("work", "done");
    await sandbox.commands.run("n=0; while n=$((n+1)); do echo $n > /tmp/count; sleep 0.05; done", { background: true });
    const count = async (of) => Number(await of.files.read("/tmp/count").catch(() => "0"));
    await eventually("it counts", async () => (await count(sandbox)) > 1);

    const isACopy = async (of) => {
      assert.notEqual(of.sandboxId, sandbox.sandboxId);
      assert.equal(await of.files.read("work"), "done");
      const before = await count(of);
      await eventually("it counts on", async () => (await count(of)) > before);
      assert.equal((await of.commands.run("hostname")).stdout.trim(), of.sandboxId);
    };
    const copies = await sandbox.fork({ count: 2, timeoutMs: 120_000 });
    assert.equal(copies.length, 2);
    for (const copy of copies) {
      await isACopy(copy);
      assert.equal(await copy.kill(), true);
    }
    assert.equal(await sandbox.isRunning(), true);

    const { snapshotId } = await sandbox.createSnapshot();
    const pages = Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId });
    assert.deepEqual(
      (await pages.nextItems()).map((one) => one.snapshotId),
      [snapshotId],
    );
    const clone = await Sandbox.create(snapshotId, { envs: { OF: "clone" }, metadata: { of: "clone" } });
    await isACopy(clone);
    assert.equal((await clone.commands.run("echo $OF")).stdout, "clone\n");
    assert.deepEqual((await Sandbox.getInfo(clone.sandboxId)).metadata, { of: "clone" });
    await clone.kill();
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), true);
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), false);

    // By its id alone, and with a name that others start from.
    const name = `named-${sandbox.sandboxId}`;
    const named = await Sandbox.createSnapshot(sandbox.sandboxId, { name });
    assert.ok(named.names.some((one) => one.includes(name)));
    const other = await Sandbox.create(name);
    await isACopy(other);
    await other.kill();
    assert.equal(await Sandbox.deleteSnapshot(named.snapshotId), true);
  });
}
