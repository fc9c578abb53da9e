import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

async function listed(client, options) {
  const paginator = client.Sandbox.list(options);
  const items = [];
  while (paginator.hasNext) items.push(...(await paginator.nextItems()));
  return items;
}

export default async function (client) {
  const group = `list-${crypto.randomUUID()}`;
  const create = (name) => client.Sandbox.create({ metadata: { group, name } });
  // Values that hold an escape, and that look as if they did.
  const names = ["one", "two & 2=+%41, 100%", "100%25", "three"];
  const sandboxes = [];
  for (const name of names) sandboxes.push(await create(name));
  try {
    const ids = sandboxes.map((sandbox) => sandbox.sandboxId);
    const all = await listed(client, { query: { metadata: { group } } });
    assert.deepEqual(all.map((info) => info.sandboxId).sort(), [...ids].sort());
    assert.deepEqual(all[0].metadata, { group, name: "three" });

    const paged = await listed(client, { query: { metadata: { group } }, limit: 1 });
    assert.deepEqual(
      paged.map((info) => info.sandboxId),
      all.map((info) => info.sandboxId),
    );
    for (const [i, name] of names.entries()) {
      const found = await listed(client, { query: { metadata: { group, name } } });
      assert.deepEqual(
        found.map((info) => info.sandboxId),
        [ids[i]],
      );
    }
    assert.deepEqual(await listed(client, { query: { metadata: { group }, state: ["paused"] } }), []);
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  }
  await withSandbox(client, async () => assert.deepEqual(await listed(client, { query: { metadata: { group } } }), []));
}
