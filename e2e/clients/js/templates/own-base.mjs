import assert from "node:assert/strict";
import { build, inside, withName } from "./tools.mjs";

/** `boxyard/NAME` is a template of the server for every client, as an image and in a Dockerfile. */
export default async function (client) {
  const { Template } = client;
  await withName(async (name) => {
    await build(client, Template().fromDockerfile("FROM boxyard/base\nRUN echo one > /one"), name);
    assert.equal(await inside(client, name, "cat /one; id -un"), "one\nuser\n");
    await withName(async (child) => {
      await build(client, Template().fromImage(`boxyard/${name}:default`).runCmd("echo two > /home/user/two"), child);
      assert.equal(await inside(client, child, "cat /one /home/user/two"), "one\ntwo\n");
    });
  });
}
