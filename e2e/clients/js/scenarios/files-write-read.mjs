import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

async function textOf(stream) {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  return text;
}

export default async function (client) {
  await withSandbox(client, async ({ files, commands }) => {
    const written = await files.write("notes.txt", "hello\n");
    assert.deepEqual([written.path, written.name, written.type], ["/home/user/notes.txt", "notes.txt", "file"]);
    assert.equal(await files.read("notes.txt"), "hello\n");
    assert.equal(await textOf(await files.read("notes.txt", { format: "stream" })), "hello\n");
    assert.equal((await commands.run("stat -c '%U:%G %a' notes.txt")).stdout, "user:user 644\n");

    const bytes = new Uint8Array(300_000).map((_, index) => (index * 7) % 256);
    await files.write("/tmp/deep/er/bytes.bin", bytes.buffer);
    assert.deepEqual(Buffer.from(await files.read("/tmp/deep/er/bytes.bin", { format: "bytes" })), Buffer.from(bytes));
    assert.equal(await (await files.read("/tmp/deep/er/bytes.bin", { format: "blob" })).arrayBuffer().then((b) => b.byteLength), 300_000);

    await files.write("empty", "");
    assert.equal(await files.read("empty"), "");
    await files.write("ž 🐎 & co?.txt", "name");
    assert.equal(await files.read("ž 🐎 & co?.txt"), "name");
    await files.write("notes.txt", "shorter", { user: "root" });
    assert.equal((await commands.run("stat -c %U /root/notes.txt", { user: "root" })).stdout, "root\n");

    const several = await files.write([
      { path: "a/one.txt", data: "1" },
      { path: "/tmp/two.txt", data: new Blob(["2"]) },
    ]);
    assert.deepEqual(
      several.map((entry) => entry.path),
      ["/home/user/a/one.txt", "/tmp/two.txt"],
    );
    assert.equal((await commands.run("cat a/one.txt /tmp/two.txt")).stdout, "12");

    await assert.rejects(files.read("missing"), client.FileNotFoundError ?? client.NotFoundError);
    await assert.rejects(files.read("/tmp"), client.InvalidArgumentError);
    await assert.rejects(files.write("/tmp", "x"), client.InvalidArgumentError);
  });
}
