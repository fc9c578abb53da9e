import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    const script = "while read line; do echo got $line; echo note >&2; done; exit 4";
    const options = { background: true, stdin: true, envs: { A: "b" }, cwd: "/tmp" };
    const started = await sandbox.commands.run(script, options);
    await started.disconnect();

    const elsewhere = await client.Sandbox.connect(sandbox.sandboxId);
    const [listed] = await elsewhere.commands.list();
    const { pid, cmd, args, envs, cwd, tag } = listed;
    assert.deepEqual([pid, cmd, args], [started.pid, "/bin/bash", ["-l", "-c", script]]);
    assert.deepEqual([{ ...envs }, cwd, tag], [{ A: "b" }, "/tmp", undefined]);

    const pieces = { out: "", err: "" };
    const onStdout = (text) => {
      pieces.out += text;
    };
    const onStderr = (text) => {
      pieces.err += text;
    };
    const handle = await elsewhere.commands.connect(pid, { onStdout, onStderr, timeoutMs: 0 });
    assert.equal(handle.pid, pid);
    await elsewhere.commands.sendStdin(pid, new TextEncoder().encode("one\n"));
    await handle.sendStdin("two\n");
    await handle.closeStdin();
    await assert.rejects(handle.wait(), (error) => {
      assert.ok(error instanceof client.CommandExitError);
      assert.deepEqual([error.exitCode, error.error], [4, "exit status 4"]);
      assert.deepEqual([error.stdout, error.stderr], ["got one\ngot two\n", "note\nnote\n"]);
      return true;
    });
    assert.deepEqual(pieces, { out: "got one\ngot two\n", err: "note\nnote\n" });

    // The time limit of a connection is the connection's alone.
    const sleeper = await sandbox.commands.run("sleep 300", { background: true, timeoutMs: 0 });
    const brief = await sandbox.commands.connect(sleeper.pid, { timeoutMs: 400 });
    await assert.rejects(brief.wait(), client.TimeoutError);
    assert.equal(await sandbox.commands.kill(sleeper.pid), true);
    await assert.rejects(sleeper.wait(), (error) => error.exitCode === -1 && error.error === "signal: killed");
    await assert.rejects(sandbox.commands.connect(4_000_000), client.NotFoundError);
  });
}
