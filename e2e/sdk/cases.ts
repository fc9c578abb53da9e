import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type * as Sdk from "@boxyard/sdk";

/** The package under test, and a sandbox of the running platform. */
export interface Subject {
  readonly sdk: typeof Sdk;
  readonly sandbox: Sdk.Sandbox;
}

export type Case = readonly [name: string, run: (subject: Subject) => Promise<void>];

/** The error that a call fails with. */
async function failure<T extends Error>(call: Promise<unknown>, Class: abstract new (...args: never[]) => T): Promise<T> {
  const error = await call.then(
    (value) => assert.fail(`expected ${Class.name}, got ${JSON.stringify(value)}`),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Class, `expected ${Class.name}, got ${String(error)}`);
  return error;
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** Sections 4.6 and 2.9 of the interface document, row by row. */
const COMMANDS: readonly Case[] = [
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
      const bounded = await sandbox.commands.connect(silent.pid, { timeoutMs: 200 });
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
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        seen.push(data);
      };
      await sandbox.commands.run("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done", { onStdout });
      assert.equal(seen.join(""), "1\n2\n3\n4\n5\n");
      const mine = new Error("mine");
      assert.equal(await failure(sandbox.commands.run("echo x; sleep 60", { onStdout: () => Promise.reject(mine) }), Error), mine);
    },
  ],
];

const TERMINALS: readonly Case[] = [
  [
    "pty.create, sendInput, resize, and the exit code",
    async ({ sdk, sandbox }) => {
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const terminal = await sandbox.pty.create({ cols: 90, rows: 20, onData, envs: { A: "1" }, cwd: "/tmp", user: "root" });
      await sandbox.pty.sendInput(terminal.pid, bytes("stty size; echo $A-$TERM-$(pwd)-$(id -un)\n"));
      await until(() => seen.includes("20 90\r\n") && seen.includes("1-xterm-256color-/tmp-root\r\n"));
      await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 50 });
      await sandbox.pty.resize(terminal.pid, { cols: 110 });
      await sandbox.pty.sendInput(terminal.pid, bytes("stty size; exit 3\n"));
      assert.equal((await failure(terminal.wait(), sdk.CommandExitError)).exitCode, 3);
      assert.ok(seen.includes("50 110\r\n"), "a resize without rows keeps them");
      await failure(sandbox.pty.resize(terminal.pid, { cols: 1 }), sdk.NotFoundError);
    },
  ],
  [
    "pty.connect and pty.kill",
    async ({ sdk, sandbox }) => {
      const first = await sandbox.pty.create({ cols: 80, rows: 24 });
      await first.disconnect();
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const second = await sandbox.pty.connect(first.pid, { onData });
      await sandbox.pty.sendInput(first.pid, bytes("echo $((6*7))\n"));
      await until(() => seen.includes("42\r\n"));
      assert.equal(await sandbox.pty.kill(first.pid), true);
      assert.equal((await failure(second.wait(), sdk.CommandExitError)).error, "signal: killed");
      assert.equal(await sandbox.pty.kill(first.pid), false);
    },
  ],
];

const STREAMS: readonly Case[] = [
  [
    "100 MB of output, whole and in order",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.spawn(["sh", "-c", "seq 1 14000000 | head -c 100000000"], {
        timeoutMs: 0,
        retainOutput: false,
      });
      let count = 0;
      let sum = 0;
      for await (const { data } of handle) {
        count += data.length;
        for (let i = 0; i < data.length; i += 997) sum = (sum + (data[i] ?? 0)) % 1_000_003;
      }
      assert.equal(count, 100_000_000);
      assert.ok(sum > 0);
    },
  ],
  [
    "binary output, and characters cut between messages",
    async ({ sandbox }) => {
      const handle = await sandbox.commands.spawn(["sh", "-c", "head -c 65536 /dev/urandom | tee /tmp/random"]);
      const pieces: Uint8Array[] = [];
      for await (const { data } of handle) pieces.push(data);
      const file = await sandbox.files.read("/tmp/random", { format: "bytes" });
      assert.equal(Buffer.compare(Buffer.concat(pieces), Buffer.from(file)), 0);
      const { stdout } = await sandbox.commands.run("for i in $(seq 20000); do printf €; done");
      assert.equal(stdout, "€".repeat(20_000));
    },
  ],
  [
    "100 commands at once",
    async ({ sandbox }) => {
      const results = await Promise.all(Array.from({ length: 100 }, (_, i) => sandbox.commands.run(`echo ${i}`, { timeoutMs: 120_000 })));
      assert.deepEqual(
        results.map(({ stdout }) => stdout),
        Array.from({ length: 100 }, (_, i) => `${i}\n`),
      );
    },
  ],
  [
    "a killed sandbox is told apart, by streams and by calls",
    async ({ sdk, sandbox }) => {
      const handle = await sandbox.commands.run("sleep 60", { background: true });
      const exits: unknown[] = [];
      await sandbox.files.watchDir("/tmp", () => {}, { onExit: (error) => void exits.push(error) });
      await sandbox.kill();
      assert.ok((await failure(handle.wait(), sdk.BoxyardError)) instanceof sdk.SandboxEndedError);
      await until(() => exits.length > 0);
      assert.ok(exits[0] instanceof sdk.SandboxEndedError);
      assert.equal(await sandbox.isRunning(), false);
      await failure(sandbox.commands.run("true"), sdk.SandboxEndedError);
      await failure(sandbox.files.read("/etc/hostname"), sdk.SandboxEndedError);
    },
  ],
];

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await isSo()); ) {
    assert.ok(Date.now() < deadline, "not within 10 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What goes beyond commands and terminals; the first rows of issue 6. */
const FILES: readonly Case[] = [
  [
    "files: 40 MB go up in parts, from bytes and from a stream, and come back as they were",
    async ({ sandbox }) => {
      const data = new Uint8Array(40_000_003);
      for (let i = 0; i < data.length; i += 1021) data[i] = i % 251;
      const chunks = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < data.length; at += 1_000_000) controller.enqueue(data.subarray(at, at + 1_000_000));
          controller.close();
        },
      });
      const seen: number[] = [];
      await sandbox.files.write("up/bytes", data, { onProgress: ({ sentBytes }) => void seen.push(sentBytes) });
      await sandbox.files.write("up/stream", chunks);
      assert.deepEqual([seen.length, seen.at(-1)], [5, data.length]);
      const { stdout } = await sandbox.commands.run("cd up && cmp bytes stream && stat -c %s bytes && ls -A");
      assert.equal(stdout, "40000003\nbytes\nstream\n");
      const back = await sandbox.files.read("up/stream", { format: "bytes" });
      assert.equal(Buffer.compare(back, data), 0);
    },
  ],
  [
    "logs tell of the start; a git repository is made, changed and looked at",
    async ({ sandbox }) => {
      assert.equal((await sandbox.getLogs()).at(0)?.fields.event, "started");
      const { git, files } = sandbox;
      await git.init("repo");
      await files.write("repo/a.txt", "1");
      await git.add("repo");
      const author = { name: "A", email: "a@example.com" };
      assert.match(await git.commit("repo", "first", { author }), /^[0-9a-f]{40}$/);
      await git.clone("/home/user/repo", "copy");
      const { branch, upstream, clean } = await git.status("copy");
      assert.deepEqual([branch, upstream, clean], ["main", "origin/main", true]);
    },
  ],
];

const NOT_YET: readonly Case[] = [
  [
    "pause, forks and snapshots: a server that cannot yet says so, and the sandbox goes on",
    async ({ sdk, sandbox }) => {
      for (const call of [sandbox.pause(), sandbox.fork(), sandbox.createSnapshot({ name: "mine" })]) {
        assert.deepEqual([(await failure(call, sdk.UnsupportedError)).code], ["unimplemented"]);
      }
      await sandbox.resume();
      assert.equal((await sandbox.commands.run("echo on")).stdout, "on\n");
    },
  ],
];

export const CASES: readonly Case[] = [...COMMANDS, ...TERMINALS, ...FILES, ...NOT_YET, ...STREAMS];
