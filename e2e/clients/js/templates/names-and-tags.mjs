import assert from "node:assert/strict";
import { api, build, inside, withName } from "./tools.mjs";

export default async function (client) {
  const { Template, Sandbox } = client;
  const tagsOf = async (name) => (await Template.getTags(name)).map(({ tag }) => tag).sort();
  await withName(async (name) => {
    assert.equal(await Template.exists(name), false);
    const one = await build(client, Template().fromBaseImage().runCmd("echo one > ~/v"), `${name}:v1`, { tags: ["stable"] });
    assert.deepEqual([one.name, one.tags], [`${name}:v1`, ["v1", "stable"]]);
    for (const taken of [name, `${name}:v1`, `default/${name}:stable`]) assert.equal(await Template.exists(taken), true);
    assert.equal(await Template.exists(`${name}:v9`), false);
    assert.deepEqual(await tagsOf(name), ["stable", "v1"]);
    assert.deepEqual(await tagsOf(`${name}:v1`), ["stable", "v1"]);
    // A tag is no template: deleting one must not delete all.
    const kept = await api("DELETE", `/templates/${name}:v1`);
    assert.deepEqual([kept.status, (await kept.json()).message.includes("/templates/tags")], [400, true]);
    const two = await build(client, Template().fromBaseImage().runCmd("echo two > ~/v"), `${name}:v2`);
    assert.equal(two.templateId, one.templateId);
    assert.equal(await inside(client, `${name}:v1`, "cat v"), "one\n");
    assert.equal(await inside(client, `${name}:v2`, "cat v"), "two\n");

    const assigned = await Template.assignTags(`${name}:v2`, ["stable", "default"]);
    assert.deepEqual([assigned.tags, assigned.buildId], [["stable", "default"], two.buildId]);
    assert.equal(await inside(client, `default/${name}`, "cat v"), "two\n");
    assert.equal(await inside(client, `${one.templateId}:stable`, "cat v"), "two\n");
    // A build's id means that build, whatever tags move to.
    assert.equal(await inside(client, `${name}:${one.buildId}`, "cat v"), "one\n");
    assert.equal((await Template.assignTags(`${name}:${one.buildId}`, "first")).buildId, one.buildId);
    await Template.removeTags(name, ["v1", "first"]);
    await Template.removeTags(name, ["stable"]);
    assert.deepEqual(await tagsOf(name), ["default", "v2"]);
    await assert.rejects(Sandbox.create(`${name}:v1`), client.SandboxError);
    for (const bad of [":v3", "x:"]) await assert.rejects(Template.assignTags(name, bad));
    await assert.rejects(Template.removeTags(name, "default"));

    // A template of a template has all that the other has.
    await withName(async (child) => {
      await build(client, Template().fromTemplate(name).runCmd("echo child >> ~/v"), child);
      assert.equal(await inside(client, child, "cat v"), "two\nchild\n");
    });

    const sandbox = await Sandbox.create(name);
    const refused = await api("DELETE", `/templates/${name}`);
    assert.equal(refused.status, 400);
    assert.ok((await refused.json()).message.includes(sandbox.sandboxId));
    await sandbox.kill();
    assert.equal((await api("DELETE", `/templates/${name}`)).status, 204);
    assert.equal(await Template.exists(name), false);
  });
}
