import assert from "node:assert/strict";
import { eventually } from "../with-sandbox.mjs";

/** A sandbox whose time is over is kept, and comes back by a connect or, where that is asked for, by the next request. */
export default async function ({ Sandbox }) {
  await comesBackByConnect(Sandbox);
  await comesBackByRequest(Sandbox);
}

async function comesBackByRequest(Sandbox) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, lifecycle: { onTimeout: "pause", autoResume: true } });
  const id = sandbox.sandboxId;
  try {
    const loop = await sandbox.commands.run("exec sleep 1000", { background: true });
    assert.deepEqual((await Sandbox.getInfo(id)).lifecycle, { onTimeout: "pause", autoResume: true });
    await Sandbox.setTimeout(id, 0);
    await eventually("it is paused", async () => (await Sandbox.getInfo(id)).state === "paused", 30_000);
    // One that comes while the pause is still under way may be answered before it, or be broken off.
    await eventually("a request wakes it", async () => {
      const found = await sandbox.commands.list().catch(() => []);
      return found.some(({ pid }) => pid === loop.pid) && (await Sandbox.getInfo(id)).state === "running";
    });
  } finally {
    await Sandbox.kill(id);
  }
}

async function comesBackByConnect(Sandbox) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, lifecycle: { onTimeout: "pause" } });
  const id = sandbox.sandboxId;
  try {
    await sandbox.files.write("kept", "x");
    const loop = await sandbox.commands.run("exec sleep 1000", { background: true });
    for (let round = 0; round < 2; round++) {
      await Sandbox.setTimeout(id, 0);
      await eventually("it is paused", async () => (await Sandbox.getInfo(id)).state === "paused", 30_000);
      const { lifecycle } = await Sandbox.getInfo(id);
      assert.equal(lifecycle?.onTimeout, "pause");
      const resumed = await Sandbox.connect(id, { timeoutMs: 120_000 });
      assert.equal(await resumed.files.read("kept"), "x");
      assert.ok((await resumed.commands.list()).some(({ pid }) => pid === loop.pid));
    }
  } finally {
    await Sandbox.kill(id);
  }
}
