import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const { files, commands } = sandbox;
    await commands.run("mkdir /root/watched", { user: "root" });
    const seen = [];
    const watch = (path, options) => files.watchDir(path, (event) => void seen.push(event), { timeoutMs: 0, ...options });
    const of = (type, name) => seen.find((event) => event.type === type && event.name === name);

    const handle = await watch("watched", { user: "root", includeEntry: true });
    await files.write("watched/a.txt", "12345", { user: "root" });
    await eventually("what was written", () => of("write", "a.txt"));
    const { path, type, size, owner } = of("write", "a.txt").entry;
    assert.deepEqual([path, type, size, owner], ["/root/watched/a.txt", "file", 5, "root"]);
    await commands.run("chmod 600 /root/watched/a.txt && rm /root/watched/a.txt", { user: "root" });
    await eventually("the file's removal", () => of("remove", "a.txt"));
    assert.ok(of("chmod", "a.txt"), "the change of mode comes before the removal");
    assert.equal(of("remove", "a.txt").entry, undefined);
    await handle.stop();

    // Each kind of end is told.
    const ends = [];
    const onExit = (error) => void ends.push(error?.constructor);
    await watch("/home/user", { onExit, timeoutMs: 400 });
    await eventually("the end at the time limit", () => ends.length === 1);
    await (await watch("/home/user", { onExit })).stop();
    await eventually("the end that was asked for", () => ends.length === 2);
    await watch("/home/user", { onExit });
    await sandbox.kill();
    await eventually("the end with the sandbox", () => ends.length === 3);
    assert.equal(ends[0], client.TimeoutError);
    assert.equal(ends[2], client.TimeoutError);
  });
}
