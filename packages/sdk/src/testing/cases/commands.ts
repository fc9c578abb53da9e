import assert from "node:assert/strict";
import { type Case, failure, sleep, until } from "../bench.ts";

export const COMMAND_CASES: readonly Case[] = [
  [
    "run gives exit code and both outputs",
    async ({ sandbox }) => {
      const result = await sandbox.commands.run("echo out; echo err >&2");
      assert.deepEqual(result, { exitCode: 0, stdout: "out\n", stderr: "err\n" });
    },
  ],
  [
    "another exit code is a CommandExitError that carries the result",
    async ({ sdk, sandbox }) => {
      const error = await failure(sandbox.commands.run("echo out; echo err >&2; exit 7"), sdk.CommandExitError);
      assert.deepEqual([error.exitCode, error.stdout, error.stderr, error.error], [7, "out\n", "err\n", "exit status 7"]);
      assert.deepEqual([error.code, error.reason], ["unknown", "command_exit"]);
    },
  ],
  [
    "cwd, envs and user are sent",
    async ({ sandbox }) => {
      const { stdout } = await sandbox.commands.run('echo "$PWD $A $WHO"', { cwd: "/tmp", envs: { A: "1" }, user: "rööt" });
      assert.equal(stdout, `/tmp 1 Basic ${Buffer.from("rööt:").toString("base64")}\n`);
    },
  ],
  [
    "spawn passes arguments exactly as given",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.spawn(["/usr/bin/printf", "%s|", "a b", "$HOME", "'", ""]);
      assert.equal((await handle.wait()).stdout, "a b|$HOME|'||");
    },
  ],
  [
    "a background command is waited for, listed, and killed",
    async ({ sdk, sandbox }) => {
      const handle = await sandbox.commands.run("sleep 30", { background: true, tag: "mine" });
      assert.equal(handle.exitCode, undefined);
      const [info] = await sandbox.commands.list();
      assert.deepEqual([info?.pid, info?.cmd, info?.args, info?.tag], [handle.pid, "/bin/bash", ["-l", "-c", "sleep 30"], "mine"]);
      assert.equal(await handle.kill(), true);
      const error = await failure(handle.wait(), sdk.CommandExitError);
      assert.deepEqual([error.exitCode, error.error], [-1, "signal: killed"]);
      assert.equal(await sandbox.commands.kill(handle.pid), false);
    },
  ],
  [
    "stdin arrives in order, also when sends are not waited for, and can be closed",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.run("cat", { background: true, stdin: true });
      const sends = Array.from({ length: 50 }, (_, i) => handle.sendStdin(`${i},`));
      await handle.closeStdin();
      await Promise.all(sends);
      assert.equal((await handle.wait()).stdout, Array.from({ length: 50 }, (_, i) => `${i},`).join(""));
    },
  ],
  [
    "connect to a running command and wait for its result",
    async ({ sdk, sandbox }) => {
      const first = await sandbox.commands.run("read line; echo got $line", { background: true, stdin: true });
      const second = await sandbox.commands.connect(first.pid);
      await first.disconnect();
      const dropped = await failure(first.wait(), sdk.AbortError);
      assert.equal(dropped.reason, "disconnected");
      await sandbox.commands.sendStdin(second.pid, new TextEncoder().encode("it\n"));
      assert.equal((await second.wait()).stdout, "got it\n");
      const error = await failure(sandbox.commands.connect(first.pid), sdk.NotFoundError);
      assert.equal(error.reason, "process_not_found");
    },
  ],
  [
    "characters cut between two messages come out whole, and bytes that are no text do no harm",
    async ({ sandbox }) => {
      const pieces: string[] = [];
      // Each piece but the first is written when the one before has come.
      const cmd = "printf '\\xe2\\x82'; read x; printf '\\xac'; read x; printf '\\xff\\xe2'";
      const options = { background: true, stdin: true, onStdout: (data: string) => void pieces.push(data) } as const;
      const handle = await sandbox.commands.run(cmd, options);
      let seen = 0;
      for await (const _ of handle) if (++seen < 3) await handle.sendStdin("\n");
      const { stdout } = await handle.wait();
      assert.equal(stdout, "€\ufffd\ufffd");
      assert.equal(pieces.join(""), stdout);
      assert.equal(pieces[0], "€");
    },
  ],
  [
    "twenty megabytes of output, more than any buffer on the way, arrive whole",
    async ({ sandbox }) => {
      let bytes = 0;
      const handle = await sandbox.commands.spawn(["head", "-c", "20000000", "/dev/zero"], { retainOutput: false, timeoutMs: 0 });
      for await (const { data } of handle) bytes += data.length;
      assert.equal(bytes, 20_000_000);
      assert.equal(handle.stdout, "");
      assert.equal((await handle.waitForEnd()).exitCode, 0);
    },
  ],
  [
    "a loop gets all output, also what came before it began, as often as one likes",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.run("echo a; read x; echo $x; echo e >&2", { background: true, stdin: true });
      while (handle.stdout !== "a\n") await sleep(5);
      await handle.sendStdin("b\n");
      for (let i = 0; i < 2; i++) {
        const seen = { stdout: "", stderr: "", pty: "" };
        for await (const { stream, data } of handle) seen[stream] += new TextDecoder().decode(data);
        assert.deepEqual(seen, { stdout: "a\nb\n", stderr: "e\n", pty: "" });
      }
      for await (const _ of handle) break;
      assert.equal((await handle.wait()).stdout, "a\nb\n");
    },
  ],
  [
    "a slow callback holds the stream back and loses nothing",
    async ({ sandbox }) => {
      let running = 0;
      let most = 0;
      const onStdout = async () => {
        most = Math.max(most, ++running);
        // Time alone: a callback that takes a while is what this is about.
        await sleep(20);
        running--;
      };
      const { stdout } = await sandbox.commands.run("for i in 1 2 3 4 5; do echo $i; sleep 0.01; done", { onStdout });
      assert.deepEqual([stdout, most], ["1\n2\n3\n4\n5\n", 1]);
    },
  ],
  [
    "an error in a callback reaches the caller, and the command is ended",
    async ({ sandbox }) => {
      const mine = new Error("mine");
      for (const onStdout of [() => Promise.reject(mine), () => assert.fail(mine)]) {
        const error = await failure(sandbox.commands.run("echo x; sleep 30", { onStdout }), Error);
        assert.equal(error, mine);
      }
      await until(async () => (await sandbox.commands.list()).length === 0);
    },
  ],
  [
    "200 commands at once",
    async ({ sandbox }) => {
      const results = await Promise.all(Array.from({ length: 200 }, (_, i) => sandbox.commands.run(`echo ${i}`)));
      assert.deepEqual(
        results.map(({ stdout }) => stdout),
        Array.from({ length: 200 }, (_, i) => `${i}\n`),
      );
    },
  ],
  [
    "a handle leaves with its block: started ones are killed, connected ones are left alone",
    async ({ sandbox }) => {
      const started = await sandbox.commands.run("sleep 30", { background: true });
      {
        await using connected = await sandbox.commands.connect(started.pid);
        assert.equal(connected.pid, started.pid);
      }
      assert.equal((await sandbox.commands.list()).length, 1);
      await started[Symbol.asyncDispose]();
      await until(async () => (await sandbox.commands.list()).length === 0);
    },
  ],
];
