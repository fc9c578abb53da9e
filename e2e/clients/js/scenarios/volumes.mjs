import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

/** A volume: its files without a sandbox, and in sandboxes one after the other. */
export default async function (client) {
  const { Volume, Sandbox } = client;
  const name = `volume-${crypto.randomUUID()}`;
  const volume = await Volume.create(name);
  try {
    assert.equal(volume.name, name);
    await assert.rejects(Volume.create(name));
    assert.ok((await Volume.list()).some((entry) => entry.volumeId === volume.volumeId && entry.name === name));
    assert.equal((await Volume.getInfo(volume.volumeId)).token, volume.token);

    const written = await volume.writeFile("/a.txt", "from outside", { uid: 1000, gid: 1000, mode: 0o640 });
    assert.deepEqual([written.path, written.size, written.uid, written.mode], ["/a.txt", 12, 1000, 0o640]);
    assert.equal(await volume.readFile("/a.txt"), "from outside");
    await assert.rejects(volume.writeFile("/a.txt", "x", { force: false }));
    await volume.writeFile("/a.txt", "again", { force: true });
    await volume.makeDir("/b/c", { force: true, uid: 1000, gid: 1000 });
    assert.deepEqual((await volume.list("/")).map((entry) => entry.path).sort(), ["/a.txt", "/b"]);
    assert.deepEqual((await volume.list("/", { depth: 2 })).map((entry) => entry.path).sort(), ["/a.txt", "/b", "/b/c"]);
    assert.equal((await volume.updateMetadata("/a.txt", { mode: 0o666 })).mode, 0o666);
    assert.equal(await volume.exists("/none"), false);
    await assert.rejects(volume.readFile("/none"));
    await volume.writeFile("/empty", "");
    assert.equal(await volume.readFile("/empty"), "");
    const large = new Uint8Array(8 << 20).fill(7);
    await volume.writeFile("/large", new Blob([large]).stream());
    assert.equal(Buffer.compare(await volume.readFile("/large", { format: "bytes" }), large), 0);

    const options = { volumeMounts: { "/mnt/data": volume } };
    await withSandbox(
      client,
      async (sandbox) => {
        assert.equal(await sandbox.files.read("/mnt/data/a.txt"), "again");
        assert.equal((await sandbox.commands.run("stat -c %s /mnt/data/large")).stdout.trim(), String(8 << 20));
        await sandbox.commands.run("echo from inside > /mnt/data/b/c/inside.txt");
        assert.deepEqual((await Sandbox.getInfo(sandbox.sandboxId)).volumeMounts, [{ name, path: "/mnt/data" }]);
        await assert.rejects(Volume.destroy(volume.volumeId), new RegExp(sandbox.sandboxId));
      },
      options,
    );
    await withSandbox(
      client,
      async (sandbox) => assert.equal((await sandbox.commands.run("cat /mnt/data/b/c/inside.txt; id -un")).stdout, "from inside\nuser\n"),
      options,
    );
    assert.equal(await volume.readFile("/b/c/inside.txt"), "from inside\n");
    await volume.remove("/b");
    assert.equal(await volume.exists("/b/c"), false);
  } finally {
    assert.equal(await Volume.destroy(volume.volumeId), true);
  }
  assert.equal(await Volume.destroy(volume.volumeId), false);
  await assert.rejects(Volume.connect(volume.volumeId));
}
