import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

/** `writeFiles`, metadata, and the forms in which content travels. */
export default async function (client) {
  await withSandbox(client, async ({ files, commands }) => {
    const several = await files.writeFiles([
      { path: "a/one.txt", data: "1" },
      { path: "/tmp/two.txt", data: new Blob(["2"]) },
      { path: "three.txt", data: new TextEncoder().encode("3").buffer },
    ]);
    assert.deepEqual(
      several.map(({ path, name, type }) => [path, name, type]),
      [
        ["/home/user/a/one.txt", "one.txt", "file"],
        ["/tmp/two.txt", "two.txt", "file"],
        ["/home/user/three.txt", "three.txt", "file"],
      ],
    );
    assert.equal((await commands.run("cat a/one.txt /tmp/two.txt three.txt")).stdout, "123");
    assert.deepEqual(await files.writeFiles([]), []);
    await files.writeFiles([{ path: "roots.txt", data: "r" }], { user: "root" });
    assert.equal(await files.read("/root/roots.txt", { user: "root" }), "r");

    const metadata = { origin: "test", "odd-key.1": "a b=c" };
    assert.deepEqual({ ...(await files.write("tagged", "x", { metadata })).metadata }, metadata);
    assert.deepEqual({ ...(await files.getInfo("tagged")).metadata }, metadata);
    assert.deepEqual({ ...(await files.rename("tagged", "moved")).metadata }, metadata);
    await files.write("moved", "y");
    assert.equal((await files.getInfo("moved")).metadata, undefined);

    const text = "squeeze ".repeat(20_000);
    for (const options of [{ gzip: true }, { useOctetStream: true }, { gzip: true, useOctetStream: true }]) {
      await files.write("formed", text, options);
      assert.equal(await files.read("formed", { gzip: true }), text);
      assert.equal((await commands.run("wc -c < formed")).stdout, "160000\n");
    }
  });
}
