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
  const sandboxes = [await create("one"), await create("two & 2=+%41, 100%"), await create("three")];
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
    const one = await listed(client, { query: { metadata: { group, name: "two & 2=+%41, 100%" } } });
    assert.deepEqual(
      one.map((info) => info.sandboxId),
      [ids[1]],
    );
    assert.deepEqual(await listed(client, { query: { metadata: { group }, state: ["paused"] } }), []);
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  }
  await withSandbox(client, async () => assert.deepEqual(await listed(client, { query: { metadata: { group } } }), []));
}
