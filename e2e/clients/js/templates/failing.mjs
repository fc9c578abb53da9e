import assert from "node:assert/strict";
import { build, withName } from "./tools.mjs";

/** A build that fails says which command, with which status, and shows what it printed. */
export default async function (client) {
  const { Template, BuildError } = client;
  const failure = async (template) =>
    withName(async (name) => {
      const log = [];
      const error = await Template.build(template, name, { onBuildLogs: (entry) => log.push(entry.message) }).catch((thrown) => thrown);
      assert.ok(error instanceof BuildError, String(error));
      await assert.rejects(client.Sandbox.create(name), client.SandboxError);
      return { message: error.message, stack: error.stack, log };
    });
  const base = () => Template().fromBaseImage();
  const exited = await failure(base().runCmd("true").runCmd("echo to out; echo to err >&2; exit 7").runCmd("echo never"));
  assert.equal(exited.message, "failed to run command 'echo to out; echo to err >&2; exit 7': exit status 7");
  assert.ok(exited.stack.includes("failing.mjs"), exited.stack);
  for (const line of ["[builder 2/3] [stdout]: to out", "[builder 2/3] [stderr]: to err"]) assert.ok(exited.log.includes(line));
  assert.ok(!exited.log.some((line) => line.includes("]: never")));

  const user = await failure(base().runCmd("whoami", { user: "nobody-here" }));
  assert.equal(user.message, "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'nobody-here'");
  const started = await failure(base().setStartCmd("exit 4", "test -e /never"));
  assert.equal(started.message, "failed to run start command 'exit 4': exit status 4");

  // What went before the failure is not built again.
  await withName(async (name) => {
    const stamp = `echo ${name}`;
    await failure(base().runCmd(stamp).runCmd("exit 1"));
    const { log } = await build(client, base().runCmd(stamp), name);
    assert.ok(
      log.some((line) => line.startsWith(`CACHED [builder 1/1] RUN ${stamp}`)),
      log.join("\n"),
    );
  });
}
