import assert from "node:assert/strict";
import { type Case, failure, until } from "./kit.ts";

/** docs/contract/client.md, Commands, line by line, and A process. */
export const COMMANDS: readonly Case[] = [
  [
    "closeStdin: signals EOF to a command that was started with stdin",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.run("wc -c", { background: true, stdin: true });
      await sandbox.commands.sendStdin(handle.pid, "abc");
      assert.equal(await sandbox.commands.closeStdin(handle.pid), undefined);
      assert.equal((await handle.wait()).stdout, "3\n");
    },
  ],
  [
    "connect: gives a handle that can be waited on, with callbacks and a time limit",
    async ({ sdk, sandbox }) => {
      const first = await sandbox.commands.run("read x; echo got $x; echo err >&2", { background: true, stdin: true });
      const seen: string[] = [];
      const options = { onStdout: (data: string) => void seen.push(data), onStderr: (data: string) => void seen.push(data) };
      const handle = await sandbox.commands.connect(first.pid, options);
      assert.equal(handle.pid, first.pid);
      await sandbox.commands.sendStdin(handle.pid, "it\n");
      assert.deepEqual(await handle.wait(), { exitCode: 0, stdout: "got it\n", stderr: "err\n" });
      assert.deepEqual(seen.sort(), ["err\n", "got it\n"]);
      const silent = await sandbox.commands.run("sleep 60", { background: true });
      // The limit begins with the call, so it has to leave a busy machine the time to connect.
      const bounded = await sandbox.commands.connect(silent.pid, { timeoutMs: 2_000 });
      assert.equal((await failure(bounded.wait(), sdk.TimeoutError)).reason, "command_timeout");
      assert.equal(await silent.kill(), true, "the limit of a connection does not end the command");
      assert.equal((await failure(sandbox.commands.connect(999_999), sdk.NotFoundError)).reason, "process_not_found");
    },
  ],
  [
    "kill: SIGKILL; true if it was killed, false if it was not found",
    async ({ sdk, sandbox }) => {
      const handle = await sandbox.commands.run("trap '' TERM INT; sleep 60", { background: true });
      assert.equal(await sandbox.commands.kill(handle.pid), true);
      const error = await failure(handle.wait(), sdk.CommandExitError);
      assert.deepEqual([error.exitCode, error.error], [-1, "signal: killed"]);
      assert.equal(await sandbox.commands.kill(handle.pid), false);
    },
  ],
  [
    "list: all running commands and PTY sessions, with the fields of 2.8",
    async ({ sandbox }) => {
      const command = await sandbox.commands.run("sleep 60", { background: true, envs: { A: "1" }, cwd: "/tmp", tag: "mine" });
      const terminal = await sandbox.pty.create({ cols: 80, rows: 24 });
      const list = await sandbox.commands.list();
      const info = list.find(({ pid }) => pid === command.pid);
      assert.deepEqual(
        [info?.cmd, info?.args, info?.envs.A, info?.cwd, info?.tag],
        ["/bin/bash", ["-l", "-c", "sleep 60"], "1", "/tmp", "mine"],
      );
      assert.equal(list.find(({ pid }) => pid === terminal.pid)?.cmd, "/bin/bash");
      assert.equal(await sandbox.pty.kill(terminal.pid), true);
      await command.kill();
    },
  ],
  [
    "run: waits for the result, or with background gives a handle at once",
    async ({ sdk, sandbox }) => {
      assert.deepEqual(await sandbox.commands.run("echo out; echo err >&2"), { exitCode: 0, stdout: "out\n", stderr: "err\n" });
      const error = await failure(sandbox.commands.run("echo out; exit 9", { background: false }), sdk.CommandExitError);
      assert.deepEqual([error.exitCode, error.stdout, error.error], [9, "out\n", "exit status 9"]);
      const startedAt = Date.now();
      const handle = await sandbox.commands.run("sleep 60", { background: true });
      assert.ok(Date.now() - startedAt < 10_000);
      await handle.kill();
    },
  ],
  [
    "sendStdin: takes a string or bytes",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.run("head -c 6 | od -An -tx1", { background: true, stdin: true });
      await sandbox.commands.sendStdin(handle.pid, "aé");
      await sandbox.commands.sendStdin(handle.pid, Uint8Array.of(0, 255, 10));
      assert.equal((await handle.wait()).stdout.trim(), "61 c3 a9 00 ff 0a");
    },
  ],
  [
    "defaults: home as working directory, the template's user, no stdin, envs over the sandbox's",
    async ({ sandbox }) => {
      const { stdout } = await sandbox.commands.run('pwd; id -un; cat; echo "[$FROM_SANDBOX]"');
      assert.equal(stdout, "/home/user\nuser\n[yes]\n");
      const own = await sandbox.commands.run('pwd; id -un; echo "[$FROM_SANDBOX]"', {
        cwd: "/",
        user: "root",
        envs: { FROM_SANDBOX: "no" },
      });
      assert.equal(own.stdout, "/\nroot\n[no]\n");
    },
  ],
  [
    "timeoutMs: the command is ended",
    async ({ sdk, sandbox }) => {
      const error = await failure(sandbox.commands.run("exec sleep 61.5", { timeoutMs: 300 }), sdk.TimeoutError);
      assert.equal(error.reason, "command_timeout");
      await until(async () => !(await sandbox.commands.list()).some(({ args }) => args.includes("exec sleep 61.5")));
    },
  ],
  [
    "signal: aborts the request in flight, and the call fails with an abort error",
    async ({ sdk, sandbox }) => {
      const controller = new AbortController();
      const run = sandbox.commands.run("sleep 60", { signal: controller.signal });
      setTimeout(() => controller.abort(), 100);
      assert.equal((await failure(run, sdk.AbortError)).name, "AbortError");
      await failure(sandbox.commands.list({ signal: controller.signal }), sdk.AbortError);
    },
  ],
  [
    "callbacks may be asynchronous, keep their order, and their failures reach the caller",
    async ({ sandbox }) => {
      const seen: string[] = [];
      const onStdout = async (data: string) => {
        // Time alone: a callback that takes a while is what this is about.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        seen.push(data);
      };
      await sandbox.commands.run("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done", { onStdout });
      assert.equal(seen.join(""), "1\n2\n3\n4\n5\n");
      const mine = new Error("mine");
      assert.equal(await failure(sandbox.commands.run("echo x; sleep 60", { onStdout: () => Promise.reject(mine) }), Error), mine);
    },
  ],
  [
    "commands.connect with fromOffset brings output again, and begins later where the sandbox has it no more",
    async ({ sandbox }) => {
      const command = await sandbox.commands.run("echo one; echo two >&2; sleep 1000", { background: true });
      await until(() => command.stdout === "one\n" && command.stderr === "two\n");
      assert.equal(command.outputOffset, 8);
      await command.disconnect();
      const again = await sandbox.commands.connect(command.pid, { fromOffset: 0 });
      await until(() => again.stdout === "one\n" && again.stderr === "two\n");
      assert.equal(again.outputOffset, 8);
      await again.kill();
      const large = await sandbox.commands.run("head -c 2000000 /dev/zero; sleep 1000", { background: true });
      await until(() => large.outputOffset === 2_000_000);
      const late = await sandbox.commands.connect(large.pid, { fromOffset: 0 });
      assert.ok(late.outputOffset > 0, "the first of it is gone");
      await until(() => late.outputOffset === 2_000_000);
      await large.kill();
    },
  ],
];
