import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async ({ commands }) => {
    const result = await commands.run("python3 -c 'print(6*7)'; echo oops >&2");
    assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, "42\n", "oops\n"]);

    await assert.rejects(commands.run("echo partial; exit 3"), (error) => {
      assert.ok(error instanceof client.CommandExitError);
      assert.deepEqual([error.exitCode, error.stdout], [3, "partial\n"]);
      return true;
    });
    await assert.rejects(commands.run("no-such-program"), (error) => error instanceof client.CommandExitError && error.exitCode === 127);

    assert.equal((await commands.run("whoami; pwd; echo $HOME")).stdout, "user\n/home/user\n/home/user\n");
    assert.equal((await commands.run("whoami; pwd", { user: "root", cwd: "/etc" })).stdout, "root\n/etc\n");
    await commands.run("groupadd --gid 4242 testers && usermod -aG testers user", { user: "root" });
    assert.equal((await commands.run("id -G")).stdout, "1000 4242\n");
    assert.equal((await commands.run("sudo -n id -u")).stdout, "0\n");
    await assert.rejects(commands.run("true", { cwd: "/does/not/exist" }), client.InvalidArgumentError);
    await assert.rejects(commands.run("true", { user: "nobody-here" }), client.AuthenticationError);
  });
}
