import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  const before = Date.now();
  const options = { metadata: { owner: "e2e", purpose: "info & more=true" }, timeoutMs: 60_000 };
  await withSandbox(
    client,
    async (sandbox) => {
      const info = await sandbox.getInfo();
      assert.equal(info.sandboxId, sandbox.sandboxId);
      assert.deepEqual(info.metadata, options.metadata);
      assert.equal(info.state, "running");
      assert.equal(info.name, "base");
      assert.equal(info.envdVersion, "0.6.13");
      assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128);
      assert.ok(Math.abs(info.startedAt.getTime() - before) < 30_000);
      const lifetime = info.endAt.getTime() - info.startedAt.getTime();
      assert.ok(lifetime > 55_000 && lifetime < 65_000, `lifetime ${lifetime}`);
    },
    options,
  );
  // What was accepted is shown.
  const network = { allowOut: [], denyOut: ["0.0.0.0/0", "::/0"] };
  await withSandbox(
    client,
    async (sandbox) => {
      const info = await sandbox.getInfo();
      assert.deepEqual([info.network.allowOut, info.network.denyOut], [network.allowOut, network.denyOut]);
    },
    { network },
  );
}
