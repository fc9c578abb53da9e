import assert from "node:assert/strict";

/** Secrets: stored, changed, listed in pages, and deleted. No answer has a value. */
export default async function ({ Secret, SecretNotFoundError }) {
  const name = `Secret-${crypto.randomUUID()}`;
  const value = crypto.randomUUID();
  const created = await Secret.create(name, value, { metadata: { owner: "me" } });
  try {
    assert.deepEqual([created.name, created.version, created.metadata], [name.toLowerCase(), 1, { owner: "me" }]);
    assert.ok(created.createdAt instanceof Date);
    await assert.rejects(Secret.create(name, value), /409/);
    assert.deepEqual(await Secret.getInfo(name), created);
    assert.equal((await Secret.getInfo(created.secretId)).secretId, created.secretId);
    const updated = await Secret.update(name, `${value}-2`);
    assert.deepEqual([updated.version, updated.metadata], [2, { owner: "me" }]);
    assert.equal(await Secret.exists(name), true);
    const other = await Secret.create(`${name}-2`, value);
    const paginator = Secret.list({ limit: 1 });
    const seen = [];
    while (paginator.hasNext) seen.push(...(await paginator.nextItems()));
    assert.ok([created, other].every(({ secretId }) => seen.some((entry) => entry.secretId === secretId)));
    assert.ok(!JSON.stringify([seen, updated]).includes(value));
    assert.equal(await Secret.destroy(other.secretId), true);
  } finally {
    assert.equal(await Secret.destroy(name), true);
  }
  assert.equal(await Secret.destroy(name), false);
  assert.equal(await Secret.exists(name), false);
  await assert.rejects(Secret.getInfo(name), SecretNotFoundError);
  assert.equal(Secret.fill("openai-api-key"), ["$", "{e2b.secrets.openai-api-key}"].join(""));
}
