import assert from "node:assert/strict";

const NOBODY = "i00000000000000000000";

export default async function (client) {
  const { Sandbox } = client;
  const wrongKey = { apiKey: `e2b_${"0".repeat(40)}` };
  await assert.rejects(Sandbox.create(wrongKey), client.AuthenticationError);
  await assert.rejects(Sandbox.getInfo(NOBODY, wrongKey), client.AuthenticationError);
  await assert.rejects(Sandbox.create("no-such-template"), (error) => /404/.test(error.message) && /no-such-template/.test(error.message));
  await assert.rejects(Sandbox.connect(NOBODY), client.NotFoundError);
  await assert.rejects(Sandbox.getInfo(NOBODY), client.NotFoundError);
  assert.equal(await Sandbox.kill(NOBODY), false);
  await assert.rejects(Sandbox.create({ timeoutMs: -1000 }), (error) => /400/.test(error.message));
}
