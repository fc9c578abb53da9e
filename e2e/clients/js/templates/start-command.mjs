import assert from "node:assert/strict";
import { build, inside, withName } from "./tools.mjs";

/** The start command runs in every new sandbox, and is ready when the create is answered. */
export default async function (client) {
  const { Template, Sandbox, waitForPort, waitForFile } = client;
  await withName(async (name) => {
    const template = Template()
      .fromBaseImage()
      .setEnvs({ WORD: "served", NAME: name })
      .setWorkdir("/srv/www")
      .runCmd("echo $WORD > index.html");
    const { log } = await build(client, template.setStartCmd("python3 -m http.server 8090", waitForPort(8090)), name);
    for (const start of ["Running start command: python3", "Waiting for template to be ready: ", "Template is ready"]) {
      assert.ok(
        log.some((line) => line.startsWith(start)),
        start,
      );
    }
    const sandbox = await Sandbox.create(name);
    try {
      const answer = await fetch(`http://${process.env.E2B_API_URL.replace("http://", "")}/`, {
        headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "8090" },
      });
      assert.equal(await answer.text(), "served\n");
      const [listed] = await sandbox.commands.list();
      assert.deepEqual([listed.tag, listed.cwd], ["start-command", "/srv/www"]);
    } finally {
      await sandbox.kill();
    }
    // It is inherited, and given up for another one.
    await withName(async (child) => {
      await build(client, Template().fromTemplate(name), child);
      assert.equal(await inside(client, child, "curl -s localhost:8090"), "served\n");
      await build(client, Template().fromTemplate(name).setStartCmd("touch /tmp/other; sleep 1000", waitForFile("/tmp/other")), child);
      assert.equal(await inside(client, child, "ls /tmp/other; curl -s localhost:8090 || echo nothing"), "/tmp/other\nnothing\n");
    });
  });
}
