import { afterEach, beforeEach, expect, test } from "bun:test";
import type { SandboxId, TeamId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: SandboxId;
let teamId: TeamId;
beforeEach(async () => {
  s = await TestServer.start();
  id = (await s.create()).sandboxID as SandboxId;
  teamId = await s.server.context.store.ensureTeam("default", "Default");
});
afterEach(() => s[Symbol.asyncDispose]());

const operations = () => s.server.context.store.operations;
/** Writes the row of an operation that a dead server has left. */
const leave = (kind: string, input: object, name = "left") =>
  operations().begin({ id: name, teamId, kind, step: "makeCopies", input, createdAt: 1 });

test("the sweep undoes an operation that is unfinished and does not run here", async () => {
  await leave("fork", { ids: [id, "unknown"] });
  await s.server.sweep.once();
  expect([s.world.sandboxes.size, await operations().listUnfinished()]).toEqual([0, []]);
  expect((await s.server.context.store.getSandbox(id))?.reason).toBe("unfinished");
});

test("one that cannot be undone is tried again, and keeps no other from being undone", async () => {
  const { store } = s.server.context;
  await leave("of a later version", {}, "unknown");
  await leave("fork", { ids: [id] });
  const { operations: rows } = store;
  const remove = rows.remove.bind(rows);
  rows.remove = () => Promise.reject(new Error("store away"));
  await s.server.sweep.once();
  rows.remove = remove;
  expect((await rows.listUnfinished()).map((one) => one.id)).toEqual(["left", "unknown"]);
  await s.server.sweep.once();
  expect((await rows.listUnfinished()).map((one) => one.id)).toEqual(["unknown"]);
});

test("one that runs here is left alone", async () => {
  const gate = s.world.faults.hold("create");
  const asked = s.call("POST", `/sandboxes/${id}/fork`, { count: 1 });
  await eventually("it runs", async () => (await operations().listUnfinished()).length === 1);
  await s.server.sweep.once();
  gate.open();
  const [{ sandbox }] = (await asked).body;
  expect([...s.world.sandboxes.keys()].sort()).toEqual([id, sandbox.sandboxID].sort());
  const finished = await operations().find(sandbox.sandboxID);
  expect(finished).toMatchObject({
    kind: "fork",
    step: "makeCopies",
    input: { ids: [sandbox.sandboxID] },
    output: [{ id: sandbox.sandboxID }],
  });
});

test("one that ends here while the sweep reads what is unfinished is left alone", async () => {
  const gate = s.world.faults.hold("create");
  const asked = s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "k" });
  await eventually("it runs", async () => (await operations().listUnfinished()).length === 1);
  const rows = operations();
  const list = rows.listUnfinished.bind(rows);
  rows.listUnfinished = async () => {
    const found = await list();
    gate.open();
    await asked;
    return found;
  };
  await s.server.sweep.once();
  rows.listUnfinished = list;
  const { sandboxID } = (await asked).body;
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.state).toBe("running");
});
