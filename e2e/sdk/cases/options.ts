import assert from "node:assert/strict";
import type * as Sdk from "@boxyard/sdk";
import { bytes, type Case, failure, type Subject, until } from "./kit.ts";

/** The modules as section 4.6 has them constructed: from a transport, a configuration, and a version. */
async function byHand({ sdk, sandbox, options }: Subject, version?: string): Promise<{ commands: Sdk.Commands; pty: Sdk.Pty }> {
  const response = await fetch(`${options.apiUrl}/sandboxes/${sandbox.sandboxId}`, { headers: { "X-API-Key": options.apiKey } });
  const { envdAccessToken: accessToken, envdVersion } = (await response.json()) as { envdAccessToken: string; envdVersion: string };
  const transport = sdk.createSandboxTransport({ sandboxId: sandbox.sandboxId, accessToken, baseUrl: options.apiUrl });
  const metadata = { version: version ?? envdVersion };
  return { commands: new sdk.Commands(transport, {}, metadata), pty: new sdk.Pty(transport, {}, metadata) };
}

/** Every operation of 4.6 with its trailing options. */
function operations({ sandbox }: Subject, pid: number): Record<string, (opts: Sdk.RequestOptions) => Promise<unknown>> {
  const { commands, pty } = sandbox;
  return {
    "commands.closeStdin": (opts) => commands.closeStdin(pid, opts),
    "commands.connect": (opts) => commands.connect(pid, opts),
    "commands.kill": (opts) => commands.kill(pid, opts),
    "commands.list": (opts) => commands.list(opts),
    "commands.run": (opts) => commands.run("true", opts),
    "commands.run in the background": (opts) => commands.run("true", { ...opts, background: true }),
    "commands.sendStdin": (opts) => commands.sendStdin(pid, "x", opts),
    "pty.connect": (opts) => pty.connect(pid, opts),
    "pty.create": (opts) => pty.create({ cols: 80, rows: 24, ...opts }),
    "pty.kill": (opts) => pty.kill(pid, opts),
    "pty.resize": (opts) => pty.resize(pid, { cols: 80 }, opts),
    "pty.sendInput": (opts) => pty.sendInput(pid, bytes("x"), opts),
  };
}

/** docs/contract/client.md: the options. */
export const OPTIONS: readonly Case[] = [
  [
    "Commands and Pty are made from a transport, a configuration and a version; an old agent's lacks are named",
    async (subject) => {
      const { commands, pty } = await byHand(subject);
      assert.equal((await commands.run("echo by hand")).stdout, "by hand\n");
      const terminal = await pty.create({ cols: 80, rows: 24 });
      assert.equal(await pty.kill(terminal.pid), true);
      const old = await byHand(subject, "0.5.1");
      const error = await failure(old.commands.closeStdin(1), subject.sdk.UnsupportedError);
      assert.deepEqual([error.code, error.reason], ["unimplemented", "agent_too_old"]);
      assert.equal((await old.commands.run("echo still")).stdout, "still\n");
    },
  ],
  [
    "signal: every operation refuses to begin under one that is aborted, and says so",
    async (subject) => {
      const { sdk, sandbox } = subject;
      const { pid } = await sandbox.commands.run("cat", { background: true, stdin: true });
      const reason = new Error("mine");
      for (const [name, call] of Object.entries(operations(subject, pid))) {
        const error = await failure(call({ signal: AbortSignal.abort(reason) }), sdk.AbortError);
        assert.deepEqual([name, error.cause], [name, reason]);
      }
      assert.deepEqual(
        (await sandbox.commands.list()).map((process) => process.pid),
        [pid],
      );
    },
  ],
  [
    "requestTimeoutMs: every operation gives up on an agent that does not answer",
    async (subject) => {
      const { sdk, sandbox } = subject;
      const { pid } = await sandbox.commands.run("cat", { background: true, stdin: true });
      // Root of the sandbox may stop the agent.
      // Time alone: its start is answered by then.
      await sandbox.commands.run("sleep 0.2; pkill -STOP -f ^/.boxyard/agent", { background: true, user: "root" });
      const isStopped = () =>
        sandbox.commands.list({ requestTimeoutMs: 300 }).then(
          () => false,
          () => true,
        );
      await until(isStopped);
      const calls = Object.entries(operations(subject, pid)).map(async ([name, call]) => {
        const error = await failure(call({ requestTimeoutMs: 500 }), sdk.TimeoutError);
        assert.deepEqual([name, error.reason], [name, "request_timeout"]);
      });
      await Promise.all(calls);
    },
  ],
  [
    "stdin: without it, or when it is closed, there is nothing to send to; closing is repeatable",
    async ({ sdk, sandbox }) => {
      const { pid } = await sandbox.commands.run("sleep 60", { background: true });
      const open = await sandbox.commands.run("cat; sleep 60", { background: true, stdin: true });
      for (const closed of [pid, open.pid]) {
        for (let i = 0; i < 2; i++) assert.equal(await sandbox.commands.closeStdin(closed), undefined);
        assert.match((await failure(sandbox.commands.sendStdin(closed, "x"), sdk.BoxyardError)).message, /without input/);
      }
    },
  ],
  [
    "onStdout and onStderr get what is theirs; envs and cwd are for this command only",
    async ({ sandbox }) => {
      const out: string[] = [];
      const err: string[] = [];
      const onStdout = (data: string) => void out.push(data);
      const onStderr = async (data: string) => void err.push(data);
      const options = { onStdout, onStderr, envs: { MINE: "a b" }, cwd: "/usr" };
      const result = await sandbox.commands.run('echo "$MINE"; pwd >&2', options);
      assert.deepEqual([out.join(""), err.join("")], ["a b\n", "/usr\n"]);
      assert.deepEqual(result, { exitCode: 0, stdout: "a b\n", stderr: "/usr\n" });
      assert.equal((await sandbox.commands.run('echo "[$MINE]$PWD"')).stdout, "[]/home/user\n");
    },
  ],
];
