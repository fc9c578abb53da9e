import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ files, commands }) => {
    assert.equal(await files.makeDir("work/inner"), true);
    assert.equal(await files.makeDir("work/inner"), false);
    await files.write("work/b.txt", "bb");
    await files.write("work/inner/deep.txt", "d");
    await commands.run("ln -s b.txt work/link");

    const flat = await files.list("work");
    assert.deepEqual(
      flat.map(({ name, type }) => [name, type]),
      [
        ["b.txt", "file"],
        ["inner", "dir"],
        ["link", "file"],
      ],
    );
    const names = (await files.list("work", { depth: 2 })).map((entry) => entry.path);
    assert.ok(names.includes("/home/user/work/inner/deep.txt"));

    const info = await files.getInfo("work/b.txt");
    assert.deepEqual([info.size, info.mode, info.owner, info.group, info.permissions], [2, 0o644, "user", "user", "-rw-r--r--"]);
    assert.equal((await files.getInfo("work/link")).symlinkTarget, "/home/user/work/b.txt");

    const moved = await files.rename("work/b.txt", "work/c.txt");
    assert.equal(moved.path, "/home/user/work/c.txt");
    assert.deepEqual([await files.exists("work/b.txt"), await files.exists("work/c.txt")], [false, true]);
    await files.remove("work");
    assert.equal(await files.exists("work"), false);
    await assert.rejects(files.list("work"), client.FileNotFoundError ?? client.NotFoundError);
    await assert.rejects(files.rename("work/none", "x"), client.FileNotFoundError ?? client.NotFoundError);
  });
}
