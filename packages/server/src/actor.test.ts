import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "./testing/test-server.ts";

test("events name their actor: the holder of a key for requests, the server for changes without a request", async () => {
  await using s = await TestServer.start();
  const { store } = s.server.context;
  const [key] = await store.keys.list();
  const byKey = { kind: "key", id: key?.id, address: "127.0.0.1" };
  const byServer = { kind: "server" };
  const [killed, ended, expired] = [await s.create(), await s.create(), await s.create()];
  await s.call("DELETE", `/sandboxes/${killed.sandboxID}`);
  await s.world.stop(ended.sandboxID, { reason: "agent_exited" });
  await s.call("POST", `/sandboxes/${expired.sandboxID}/timeout`, { timeout: 0 });
  await eventually("all have ended", () => s.server.engine.sandboxes.size === 0);
  const events = await store.events.read(0, 1000);
  const recorded = (id: string) => events.filter(({ targetId }) => targetId === id).map(({ action, actor }) => [action, actor]);
  const made = [
    ["sandbox.creating", byKey],
    ["sandbox.running", byKey],
  ];
  const end = (actor: object) => [
    ["sandbox.killing", actor],
    ["sandbox.dead", actor],
  ];
  expect(recorded(killed.sandboxID)).toEqual([...made, ...end(byKey)] as never);
  expect(recorded(ended.sandboxID)).toEqual([...made, ...end(byServer)] as never);
  expect(recorded(expired.sandboxID)).toEqual([...made, ["sandbox.changed", byKey], ...end(byServer)] as never);
});
