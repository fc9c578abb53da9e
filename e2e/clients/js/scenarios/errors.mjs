import assert from "node:assert/strict";

const NOBODY = "i00000000000000000000";
/** No sandbox can have these ids; clients must get "not found" anyway. */
const IMPOSSIBLE = ["nonexistingsandbox", "non-existing-sandbox"];

export default async function (client) {
  const { Sandbox } = client;
  const wrongKey = { apiKey: `e2b_${"0".repeat(40)}` };
  await assert.rejects(Sandbox.create(wrongKey), client.AuthenticationError);
  await assert.rejects(Sandbox.getInfo(NOBODY, wrongKey), client.AuthenticationError);
  await assert.rejects(Sandbox.create("no-such-template"), (error) => /404/.test(error.message) && /no-such-template/.test(error.message));
  for (const id of [NOBODY, ...IMPOSSIBLE]) {
    await assert.rejects(Sandbox.connect(id), client.NotFoundError);
    await assert.rejects(Sandbox.getInfo(id), client.NotFoundError);
    await assert.rejects(Sandbox.setTimeout(id, 1000), client.NotFoundError);
    await assert.rejects(Sandbox.getMetrics(id), client.NotFoundError);
    assert.equal(await Sandbox.kill(id), false);
  }
  await assert.rejects(Sandbox.create({ timeoutMs: -1000 }), (error) => /400/.test(error.message));
}
