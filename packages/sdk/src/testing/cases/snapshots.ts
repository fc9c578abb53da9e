import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type Case, failure } from "../bench.ts";
import { sendJson } from "../fake-wire.ts";

const answer = (status: number, body?: unknown) => (response: ServerResponse) => sendJson(response, status, body);
const access = (id: string) => ({ templateID: "base", sandboxID: id, clientID: "fake", envdVersion: "0.6.13", envdAccessToken: "t" });

/** Pauses, forks, snapshots and rollbacks: their form on the wire, and what is said where a server has none. */
export const SNAPSHOT_CASES: readonly Case[] = [
  [
    "pause: true when it paused, false when it was paused, else the conflict",
    async ({ sdk, sandbox, platform, options }) => {
      const id = sandbox.sandboxId;
      platform.nextAnswers.push(answer(204));
      assert.equal(await sandbox.pause({ keepMemory: false }), true);
      const sent = platform.seen.at(-1);
      assert.deepEqual([sent?.method, sent?.path, sent?.body], ["POST", `/sandboxes/${id}/pause`, '{"memory":false}']);
      const conflict = answer(409, { code: 409, message: "Error pausing sandbox" });
      const detail = { ...access(id), startedAt: "2026-01-01T00:00:00Z", endAt: "2026-01-01T00:00:00Z" };
      platform.nextAnswers.push(conflict, answer(200, { ...detail, state: "paused" }));
      assert.equal(await sdk.Sandbox.pause(id, options), false);
      platform.nextAnswers.push(conflict, answer(200, { ...detail, state: "running" }));
      await failure(sandbox.pause(), sdk.ConflictError);
      platform.nextAnswers.push(answer(201, access(id)));
      await sandbox.resume({ timeoutMs: 1500 });
      assert.deepEqual([platform.seen.at(-1)?.path, platform.seen.at(-1)?.body], [`/v2/sandboxes/${id}/connect`, '{"timeout":2}']);
    },
  ],
  [
    "fork: a sandbox or an error for each copy",
    async ({ sdk, sandbox, platform }) => {
      platform.nextAnswers.push(answer(201, [{ sandbox: access("i1") }, { error: { code: 503, message: "no room" } }]));
      const [one, two] = await sandbox.fork({ count: 2, timeoutMs: 60_000 });
      assert.equal(platform.seen.at(-1)?.body, '{"count":2,"timeout":60}');
      assert.equal(one?.sandbox?.sandboxId, "i1");
      assert.ok(two?.error instanceof sdk.ConnectionError && two.error.message.includes("no room"));
    },
  ],
  [
    "rollback: to a snapshot, by the object or by id",
    async ({ sdk, sandbox, platform, options }) => {
      const id = sandbox.sandboxId;
      platform.nextAnswers.push(
        answer(200, {}),
        answer(200, { volumeMounts: [{ name: "data", path: "/data", readOnly: true }] }),
        answer(400, { code: 400, message: "snapshotID: is no snapshot of this sandbox" }),
      );
      assert.deepEqual(await sandbox.rollback("mine:v1"), { volumes: [] });
      const { volumes } = await sdk.Sandbox.rollback(id, "mine:v1", options);
      assert.deepEqual(volumes, [{ name: "data", path: "/data", readOnly: true }]);
      const sent = platform.seen.at(-1);
      assert.deepEqual([sent?.method, sent?.path, sent?.body], ["POST", `/sandboxes/${id}/rollback`, '{"snapshotID":"mine:v1"}']);
      await failure(sandbox.rollback("other"), sdk.InvalidArgumentError);
    },
  ],
  [
    "snapshots: made, listed in pages, deleted",
    async ({ sdk, sandbox, platform, options }) => {
      const facts = { sandboxID: "i1", createdAt: "2026-11-28T12:00:00.000Z", sizeBytes: 4096 };
      const one = { snapshotID: "team/mine:default", names: ["team/mine:default"], ...facts };
      platform.nextAnswers.push(answer(201, one));
      assert.deepEqual(await sandbox.createSnapshot({ name: "mine" }), {
        snapshotId: one.snapshotID,
        names: one.names,
        sandboxId: "i1",
        createdAt: new Date(facts.createdAt),
        sizeBytes: 4096,
      });
      assert.equal(platform.seen.at(-1)?.body, '{"name":"mine"}');
      platform.nextAnswers.push(answer(201, one));
      await sdk.Sandbox.createSnapshot("i1", { ...options, keepMemory: false });
      assert.deepEqual([platform.seen.at(-1)?.path, platform.seen.at(-1)?.body], ["/sandboxes/i1/snapshots", '{"memory":false}']);
      platform.nextAnswers.push(
        (response) => {
          response.setHeader("X-Next-Token", "2");
          return sendJson(response, 200, [one]);
        },
        answer(200, [{ snapshotID: "other" }]),
      );
      const ids: string[] = [];
      for await (const { snapshotId } of sdk.Sandbox.listSnapshots({ ...options, sandboxId: "i1", limit: 1 })) ids.push(snapshotId);
      assert.deepEqual(ids, ["team/mine:default", "other"]);
      assert.equal(platform.seen.at(-1)?.path, "/snapshots?sandboxID=i1&limit=1&nextToken=2");
      platform.nextAnswers.push(answer(204), answer(404, { code: 404, message: "none" }));
      assert.equal(await sdk.Sandbox.deleteSnapshot(one.snapshotID, options), true);
      assert.equal(platform.seen.at(-1)?.path, "/templates/team%2Fmine%3Adefault");
      assert.equal(await sdk.Sandbox.deleteSnapshot(one.snapshotID, options), false);
    },
  ],
  [
    "a server that has no such operation is an UnsupportedError",
    async ({ sdk, sandbox, platform, options }) => {
      const notYet = answer(501, { code: 501, message: "This server cannot do that yet", error_code: "not_yet" });
      for (const call of [
        () => sandbox.pause(),
        () => sandbox.fork(),
        () => sandbox.createSnapshot(),
        () => sdk.Sandbox.listSnapshots(options).nextItems(),
      ]) {
        platform.nextAnswers.push(notYet);
        const error = await failure(call(), sdk.UnsupportedError);
        assert.deepEqual([error.code, error.reason, error.status], ["unimplemented", "not_yet", 501]);
      }
    },
  ],
];
