import assert from "node:assert/strict";
import type * as Sdk from "@boxyard/sdk";
import { type Case, failure, until } from "./kit.ts";

/** The first row of issue 6, beyond commands: sandboxes as the platform API has them. */
export const SANDBOXES: readonly Case[] = [
  [
    "create, connect, info, list in pages, timeout, kill",
    async ({ sdk, options }) => {
      const metadata = { run: `${Math.random()}`, "odd key&=": "odd value/ä" };
      const create = () => sdk.Sandbox.create("base", { ...options, metadata, timeoutMs: 120_000 });
      const three = await Promise.all([create(), create(), create()]);
      const ids = three.map(({ sandboxId }) => sandboxId).sort();
      const [one, two, last] = three as [Sdk.Sandbox, Sdk.Sandbox, Sdk.Sandbox];
      const again = await sdk.Sandbox.connect(one.sandboxId, { ...options, timeoutMs: 1000 });
      assert.equal((await again.commands.run("echo same > /tmp/f; cat /tmp/f")).stdout, "same\n");
      assert.equal(await one.files.read("/tmp/f"), "same\n");
      const info = await one.getInfo();
      assert.deepEqual([info.state, info.name, info.metadata], ["running", "base", metadata]);
      const left = info.endAt.getTime() - Date.now();
      assert.ok(left > 60_000 && left < 180_000, "connect does not shorten a lifetime");
      const pages = sdk.Sandbox.list({ ...options, metadata, limit: 2, order: "asc" });
      const found = [await pages.nextItems(), await pages.nextItems()].map((page) => page.map(({ sandboxId }) => sandboxId));
      assert.deepEqual([found.map(({ length }) => length), found.flat().sort(), pages.hasNext], [[2, 1], ids, false]);
      await sdk.Sandbox.setTimeout(two.sandboxId, 3_600_000, options);
      assert.ok((await sdk.Sandbox.getInfo(two.sandboxId, options)).endAt.getTime() > Date.now() + 3_000_000);
      await last.setTimeout(0);
      await until(async () => !(await last.isRunning()));
      assert.equal(await one.kill(), true);
      assert.equal(await one.kill(), false);
      assert.equal(await sdk.Sandbox.kill(two.sandboxId, options), true);
      assert.equal((await failure(sdk.Sandbox.getInfo(one.sandboxId, options), sdk.NotFoundError)).reason, "sandbox_not_found");
      assert.deepEqual(await sdk.Sandbox.list({ ...options, metadata }).nextItems(), []);
      const ended = (await sdk.Sandbox.getLogs(last.sandboxId, options)).at(-1);
      assert.deepEqual([ended?.fields.event, ended?.fields.cause], ["ended", "timeout"]);
    },
  ],
  [
    "signed URLs: a holder of one uploads and downloads, and nothing else",
    async ({ sandbox }) => {
      const up = await sandbox.uploadUrl("note.txt", { expiresInSeconds: 60 });
      assert.equal(
        (await fetch(up, { method: "POST", body: "by link", headers: { "Content-Type": "application/octet-stream" } })).status,
        200,
      );
      assert.equal(await sandbox.files.read("note.txt"), "by link");
      const form = new FormData();
      form.append("file", new Blob(["in a form"]), "form.txt");
      assert.equal((await fetch(await sandbox.uploadUrl(), { method: "POST", body: form })).status, 200);
      const down = await sandbox.downloadUrl("form.txt");
      assert.equal(await (await fetch(down)).text(), "in a form");
      const other = new URL(down);
      other.searchParams.set("path", "note.txt");
      const expired = await sandbox.downloadUrl("note.txt", { expiresInSeconds: -10 });
      const refused = [await fetch(other), await fetch(expired), await fetch(down, { method: "POST", body: "x" })];
      assert.deepEqual(
        refused.map(({ status }) => status),
        [401, 401, 401],
      );
    },
  ],

  [
    "pause and resume keep files, without memory too",
    async ({ sandbox }) => {
      await sandbox.files.write("kept", "before\n");
      assert.deepEqual([await sandbox.pause({ keepMemory: false }), await sandbox.isRunning()], [true, false]);
      assert.equal((await sandbox.getInfo()).state, "paused");
      await sandbox.resume();
      assert.equal((await sandbox.commands.run("cat kept")).stdout, "before\n");
    },
  ],

  [
    "a fork and a sandbox of a snapshot go on where the source stood, by themselves; a rollback leads back",
    async ({ sdk, sandbox, options }) => {
      await sandbox.commands.run("n=0; while n=$((n+1)); do echo $n > count; sleep 0.05; done", { background: true });
      await sandbox.files.write("work", "good");
      const counted = async (of: typeof sandbox) => Number(await of.files.read("count").catch(() => "0"));
      while ((await counted(sandbox)) < 2);
      const { snapshotId, names } = await sandbox.createSnapshot({ name: "of-sdk" });
      assert.deepEqual(names, [snapshotId.replace(/:default$/, "")]);
      await sandbox.files.write("work", "bad");
      const [forked] = await sandbox.fork({ timeoutMs: 120_000 });
      assert.ok(forked?.sandbox);
      const clone = await sdk.Sandbox.create(snapshotId, { ...options, envs: { OF: "clone" }, timeoutMs: 120_000 });
      for (const [of, work] of [
        [forked.sandbox, "bad"],
        [clone, "good"],
      ] as const) {
        assert.equal(await of.files.read("work"), work);
        assert.equal((await of.commands.run("hostname")).stdout.trim(), of.sandboxId);
        const before = await counted(of);
        while ((await counted(of)) <= before);
      }
      assert.equal((await clone.commands.run("echo $OF $E2B_SANDBOX_ID")).stdout, `clone ${clone.sandboxId}\n`);
      await failure(sdk.Sandbox.deleteSnapshot(snapshotId, options), sdk.InvalidArgumentError);
      await Promise.all([clone.kill(), forked.sandbox.kill()]);
      const pid = (await sandbox.commands.list())[0]?.pid;
      await sandbox.rollback(snapshotId);
      assert.equal(await sandbox.files.read("work"), "good");
      assert.equal((await sandbox.commands.list())[0]?.pid, pid);
      const listed = await sdk.Sandbox.listSnapshots({ ...options, sandboxId: sandbox.sandboxId }).nextItems();
      assert.deepEqual(
        listed.map((one) => ({ snapshotId: one.snapshotId, names: one.names, sandboxId: one.sandboxId })),
        [{ snapshotId, names, sandboxId: sandbox.sandboxId }],
      );
      assert.deepEqual(
        [await sdk.Sandbox.deleteSnapshot(snapshotId, options), await sdk.Sandbox.deleteSnapshot(snapshotId, options)],
        [true, false],
      );
    },
  ],
];
