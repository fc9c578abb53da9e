import assert from "node:assert/strict";

export default async function ({ Sandbox }) {
  const sandbox = await Sandbox.create();
  assert.match(sandbox.sandboxId, /^i[a-z0-9]{20}$/);
  assert.equal(await sandbox.isRunning(), true);
  assert.equal(await sandbox.kill(), true);
  assert.equal(await sandbox.isRunning(), false);
  assert.equal(await sandbox.kill(), false);
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false);
}
