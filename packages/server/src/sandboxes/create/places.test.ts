import { afterEach, beforeEach, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";

/** A server for two sandboxes of users. A resume waits before its intent, and a rollback before its new processes start, until `resumes` is resolved. */
let s: TestServer;
let resumes: PromiseWithResolvers<void>;
let isHeld: boolean;
beforeEach(async () => {
  resumes = Promise.withResolvers();
  isHeld = false;
  const before = async (point: string) => {
    if (point !== "resume intent" && point !== "rollback start") return;
    isHeld = true;
    await resumes.promise;
  };
  s = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "2" }, observer: { before } });
});
afterEach(() => s[Symbol.asyncDispose]());

const post = (id: string, verb: string, body: object = {}) => s.call("POST", `/sandboxes/${id}/${verb}`, body);
const stateOf = async (id: string) => (await s.call("GET", `/sandboxes/${id}`)).body.state;
const create = () => s.call("POST", "/v2/sandboxes", { templateID: "base" });

/** A sandbox that is paused, with a snapshot of itself to roll back to. */
async function paused() {
  const { sandboxID: id } = await s.create();
  const { snapshotID } = (await post(id, "snapshots")).body;
  expect((await post(id, "pause")).status).toBe(204);
  return { id, snapshotID };
}

test("of two paused sandboxes that are resumed at once, one gets the only place", async () => {
  const [one, two] = [await paused(), await paused()];
  await s.create();
  const asked = [one, two].map(({ id }) => s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 }));
  await eventually("a resume is about to begin", () => isHeld);
  resumes.resolve();
  const replies = await Promise.all(asked);
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 429]);
  expect([await stateOf(one.id), await stateOf(two.id)].sort()).toEqual(["paused", "running"]);
});

test("of two connects to one paused sandbox none is refused: they need one place together", async () => {
  const { id } = await paused();
  await s.create();
  resumes.resolve();
  const replies = await Promise.all([1, 2].map(() => s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 })));
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 201]);
});

test("a rollback of a paused sandbox is refused when there is no place for it", async () => {
  const { id, snapshotID } = await paused();
  await s.create();
  const { sandboxID: last } = await s.create();
  const refused = await post(id, "rollback", { snapshotID });
  expect([refused.status, refused.headers.get("retry-after"), await stateOf(id)]).toEqual([429, "5", "paused"]);
  expect((await s.call("DELETE", `/sandboxes/${last}`)).status).toBe(204);
  resumes.resolve();
  expect((await post(id, "rollback", { snapshotID })).status).toBe(200);
});

test("a sandbox keeps its place during a rollback, though it is paused for a moment", async () => {
  const { sandboxID: id } = await s.create();
  const { snapshotID } = (await post(id, "snapshots")).body;
  await s.create();
  const rollback = post(id, "rollback", { snapshotID });
  await eventually("the sandbox is paused", async () => (await stateOf(id)) === "paused" && isHeld);
  const refused = (await create()).status;
  resumes.resolve();
  expect([refused, (await rollback).status]).toEqual([429, 200]);
  // It holds the place no longer than the rollback lasts.
  expect([(await post(id, "pause")).status, (await create()).status]).toEqual([204, 201]);
});
