import assert from "node:assert/strict";
import { type Case, failure } from "./kit.ts";

/** Volumes: their files without a sandbox, in sandboxes, as copies and as archives. */
export const VOLUMES: readonly Case[] = [
  [
    "a volume's files are used without a sandbox",
    async ({ sdk, options }) => {
      const volume = await sdk.Volume.create(`files-${crypto.randomUUID()}`, { ...options, sizeMB: 64 });
      try {
        const { files } = volume;
        const written = await files.write("/a.txt", "hello", { uid: 1000, gid: 1000, mode: 0o640 });
        assert.deepEqual([written.path, written.size, written.uid, written.mode, written.type], ["/a.txt", 5, 1000, 0o640, "file"]);
        assert.equal(await files.read("a.txt"), "hello");
        assert.deepEqual(await files.read("a.txt", { format: "bytes" }), new TextEncoder().encode("hello"));
        await failure(files.write("/a.txt", "x", { overwrite: false }), sdk.ConflictError);
        await files.write("/a.txt", new Blob(["again"]).stream());
        await files.makeDir("/b/c", { uid: 1000 });
        await files.makeDir("/b/c");
        await files.rename("/a.txt", "/b/c/a.txt");
        await failure(files.rename("/a.txt", "/z"), sdk.NotFoundError);
        assert.deepEqual(
          (await files.list("/", { depth: 3 })).map(({ path, type }) => [path, type]),
          [
            ["/b", "directory"],
            ["/b/c", "directory"],
            ["/b/c/a.txt", "file"],
          ],
        );
        assert.equal((await files.setAttributes("/b/c/a.txt", { mode: 0o600 })).mode, 0o600);
        assert.deepEqual([await files.exists("/b"), await files.exists("/none")], [true, false]);
        assert.equal((await failure(files.read("/none"), sdk.NotFoundError)).reason, "path_not_found");
        const stream = await files.read("/b/c/a.txt", { format: "stream" });
        assert.equal(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text(), "again");
        await files.remove("/b");
        assert.equal(await files.exists("/b"), false);
      } finally {
        assert.equal(await volume.remove(), true);
      }
      assert.equal(await sdk.Volume.remove(volume.volumeId, options), false);
      await failure(sdk.Volume.get(volume.name, options), sdk.NotFoundError);
    },
  ],
  [
    "sandboxes have a volume, one after the other and at the same time, and one reads only",
    async ({ sdk, options }) => {
      const volume = await sdk.Volume.create(`shared-${crypto.randomUUID()}`, { ...options, sizeMB: 64 });
      const first = await sdk.Sandbox.create({ ...options, volumes: { "/data": volume } });
      const second = await sdk.Sandbox.create({ ...options, volumes: { "/mnt/in": { volume: volume.name, readOnly: true } } });
      try {
        await first.commands.run("echo from the first > /data/note");
        assert.equal((await second.commands.run("cat /mnt/in/note")).stdout, "from the first\n");
        assert.equal((await second.commands.run("touch /mnt/in/x 2>/dev/null || echo refused")).stdout, "refused\n");
        assert.deepEqual((await second.getInfo()).volumes, [{ name: volume.name, path: "/mnt/in", readOnly: true }]);
        const inUse = await failure(volume.remove(), sdk.ConflictError);
        assert.ok(inUse.message.includes(first.sandboxId));
      } finally {
        await Promise.all([first.kill(), second.kill()]);
      }
      assert.equal(await volume.files.read("/note"), "from the first\n");
      assert.equal(await volume.remove(), true);
    },
  ],
  [
    "a volume is resized, cloned, exported and imported",
    async ({ sdk, options }) => {
      const volume = await sdk.Volume.create(`life-${crypto.randomUUID()}`, { ...options, sizeMB: 64 });
      const made = [volume];
      try {
        await volume.files.write("/big", new Uint8Array(6 << 20).fill(7));
        assert.equal((await volume.resize(128)).sizeMB, 128);
        const refused = await failure(volume.resize(2), sdk.InvalidArgumentError);
        assert.match(refused.message, /holds \d{7} bytes/);
        const clone = await volume.clone(`${volume.name}-clone`);
        made.push(clone);
        await volume.files.write("/big", "small now");
        assert.equal((await clone.files.getInfo("/big")).size, 6 << 20);
        const restored = await sdk.Volume.import(`${volume.name}-restored`, await clone.export(), { ...options, sizeMB: 32 });
        made.push(restored);
        assert.equal((await restored.files.getInfo("/big")).size, 6 << 20);
        const info = await restored.info();
        assert.deepEqual([info.name, info.sizeMB, (info.usedBytes ?? 0) >= 6 << 20], [restored.name, 32, true]);
        await failure(sdk.Volume.import(`${volume.name}-bad`, "no tar", options), sdk.InvalidArgumentError);
        const key = { idempotencyKey: `clone-${volume.name}` };
        const [first, same] = [await volume.clone(`${volume.name}-key`, key), await volume.clone(`${volume.name}-key`, key)];
        made.push(first);
        assert.equal(same.volumeId, first.volumeId);
        assert.equal((await failure(volume.clone(`${volume.name}-key`), sdk.InvalidArgumentError)).reason, "volume_name_taken");
        const names = (await sdk.Volume.list(options)).map(({ name }) => name);
        assert.deepEqual(
          made.map(({ name }) => names.includes(name)),
          [true, true, true, true],
        );
        assert.equal(names.includes(`${volume.name}-bad`), false);
      } finally {
        for (const one of made) await one.remove();
      }
    },
  ],
];
