import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ files, commands }) => {
    await files.makeDir("watched");
    const seen = [];
    const handle = await files.watchDir("watched", (event) => seen.push(`${event.type} ${event.name}`), { recursive: true });
    const expect = (line) => eventually(`${line} among ${seen.join(", ")}`, () => seen.includes(line));
    await files.write("watched/a.txt", "1");
    await expect("create a.txt");
    await expect("write a.txt");
    await files.rename("watched/a.txt", "watched/b.txt");
    await expect("rename a.txt");
    await commands.run("mkdir watched/later && sleep 0.2 && echo x > watched/later/inner.txt");
    await expect("create later/inner.txt");
    await files.remove("watched/b.txt");
    await expect("remove b.txt");
    await handle.stop();
    const before = seen.length;
    await files.write("watched/after.txt", "1");
    assert.equal((await commands.run("sleep 0.3; echo ok")).stdout, "ok\n");
    assert.equal(seen.length, before);
    await assert.rejects(
      files.watchDir("no-such-directory", () => {}),
      client.FileNotFoundError ?? client.NotFoundError,
    );
  });
}
