import assert from "node:assert/strict";
import type * as Sdk from "../index.ts";
import { FAKE_API_KEY, FakePlatform } from "./fake-platform.ts";

/** What a case is given: the package, a fake platform, and a sandbox in it. */
export interface Bench {
  readonly sdk: typeof Sdk;
  readonly platform: FakePlatform;
  readonly url: string;
  readonly options: Sdk.ConnectionOptions;
  readonly sandbox: Sdk.Sandbox;
}

export type Case = readonly [name: string, run: (bench: Bench) => Promise<void>];

/** Runs one case on a platform of its own. */
export async function runCase(sdk: typeof Sdk, run: Case[1]): Promise<void> {
  const platform = new FakePlatform();
  const url = await platform.start();
  const options = { apiUrl: url, apiKey: FAKE_API_KEY };
  try {
    await run({ sdk, platform, url, options, sandbox: await sdk.Sandbox.create(options) });
  } finally {
    await platform.stop();
  }
}

/** The error that `call` fails with. */
async function failure<T extends Error>(call: Promise<unknown>, Class: abstract new (...args: never[]) => T): Promise<T> {
  const error = await call.then(
    (value) => assert.fail(`expected ${Class.name}, got ${JSON.stringify(value)}`),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Class, `expected ${Class.name}, got ${String(error)}`);
  return error;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const COMMAND_CASES: readonly Case[] = [
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
      const cmd = "printf '\\xe2\\x82'; sleep 0.2; printf '\\xac'; sleep 0.2; printf '\\xff\\xe2'";
      const result = await sandbox.commands.run(cmd, { onStdout: (data) => void pieces.push(data) });
      assert.equal(result.stdout, "€\ufffd\ufffd");
      assert.equal(pieces.join(""), result.stdout);
      assert.equal(pieces[0], "€");
    },
  ],
  [
    "a hundred megabytes of output arrive whole",
    async ({ sandbox }) => {
      let bytes = 0;
      const handle = await sandbox.commands.spawn(["head", "-c", "100000000", "/dev/zero"], { retainOutput: false, timeoutMs: 0 });
      for await (const { data } of handle) bytes += data.length;
      assert.equal(bytes, 100_000_000);
      assert.equal(handle.stdout, "");
      assert.equal((await handle.waitForEnd()).exitCode, 0);
    },
  ],
  [
    "a slow callback holds the stream back and loses nothing",
    async ({ sandbox }) => {
      let running = 0;
      let most = 0;
      const onStdout = async () => {
        most = Math.max(most, ++running);
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
      for (let i = 0; (await sandbox.commands.list()).length > 0; i++) {
        assert.ok(i < 100, "the commands are still running");
        await sleep(20);
      }
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
      for (let i = 0; (await sandbox.commands.list()).length > 0; i++) {
        assert.ok(i < 100, "the command is still running");
        await sleep(20);
      }
    },
  ],
];

const FAILURE_CASES: readonly Case[] = [
  [
    "abort ends a foreground run with an AbortError that carries the reason",
    async ({ sdk, sandbox }) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort("enough"), 100);
      const error = await failure(sandbox.commands.run("sleep 30", { signal: controller.signal }), sdk.AbortError);
      assert.deepEqual([error.name, error.code, error.cause], ["AbortError", "canceled", "enough"]);
      const before = await failure(sandbox.commands.list({ signal: controller.signal }), sdk.AbortError);
      assert.equal(before.cause, "enough");
    },
  ],
  [
    "timeoutMs ends the command",
    async ({ sdk, sandbox }) => {
      const error = await failure(sandbox.commands.run("sleep 30", { timeoutMs: 200 }), sdk.TimeoutError);
      assert.deepEqual([error.code, error.reason], ["deadline_exceeded", "command_timeout"]);
    },
  ],
  [
    "a sandbox that is gone is told from a network that failed",
    async ({ sdk, sandbox, platform }) => {
      const handle = await sandbox.commands.run("sleep 30", { background: true });
      platform.sandboxes.clear();
      platform.dropConnections();
      const ended = await failure(handle.wait(), sdk.SandboxEndedError);
      assert.equal(ended.reason, "sandbox_ended");
      assert.equal(await sandbox.isRunning(), false);
      const later = await failure(sandbox.commands.run("true"), sdk.SandboxEndedError);
      assert.deepEqual([later.status, later.requestId], [502, "fake-request"]);
    },
  ],
  [
    "a dropped stream of a living sandbox says so",
    async ({ sdk, sandbox, platform }) => {
      const handle = await sandbox.commands.run("sleep 30", { background: true });
      platform.dropConnections();
      const error = await failure(handle.wait(), sdk.ConnectionError);
      assert.equal(error.reason, "stream_dropped");
      assert.equal((await sandbox.commands.connect(handle.pid)).pid, handle.pid);
    },
  ],
  [
    "a killed server is a network that failed",
    async ({ sdk, sandbox, platform }) => {
      const handle = await sandbox.commands.run("sleep 30", { background: true });
      await platform.stop();
      const error = await failure(handle.wait(), sdk.ConnectionError);
      assert.equal(error.reason, "network_failed");
      await platform.start();
    },
  ],
  [
    "an API key that is wrong, missing, or an unknown template",
    async ({ sdk, options }) => {
      const wrong = await failure(sdk.Sandbox.create({ ...options, apiKey: "e2b_1" }), sdk.AuthenticationError);
      assert.deepEqual([wrong.code, wrong.status, wrong.requestId], ["unauthenticated", 401, "fake-request"]);
      const missing = await failure(sdk.Sandbox.create({ ...options, apiKey: "" }), sdk.AuthenticationError);
      assert.equal(missing.reason, "api_key_missing");
      const unknown = await failure(sdk.Sandbox.create("nothing", options), sdk.NotFoundError);
      assert.deepEqual([unknown.reason, unknown.status], ["template_not_found", 404]);
    },
  ],
  [
    "create is repeated with the same key when the connection fails or the server is busy",
    async ({ sdk, platform, options }) => {
      platform.seen.length = 0;
      platform.nextAnswers.push((response) => response.socket?.destroy());
      platform.nextAnswers.push((response) => response.writeHead(503, { "Retry-After": "0" }).end("{}"));
      await sdk.Sandbox.create(options);
      const keys = platform.seen.map(({ headers }) => headers["idempotency-key"]);
      assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    },
  ],
  [
    "Should-Retry: false is obeyed",
    async ({ sdk, platform, options }) => {
      platform.nextAnswers.push((response) => response.writeHead(503, { "Should-Retry": "false" }).end("{}"));
      platform.seen.length = 0;
      const error = await failure(sdk.Sandbox.create(options), sdk.ConnectionError);
      assert.deepEqual([error.reason, platform.seen.length], ["service_busy", 1]);
    },
  ],
  [
    "requestTimeoutMs bounds the wait for an answer",
    async ({ sdk, platform, options }) => {
      platform.nextAnswers.push(() => {});
      const error = await failure(sdk.Sandbox.create({ ...options, requestTimeoutMs: 100 }), sdk.TimeoutError);
      assert.equal(error.reason, "request_timeout");
    },
  ],
];

const SANDBOX_CASES: readonly Case[] = [
  [
    "create, info, timeout, kill",
    async ({ sdk, sandbox, options }) => {
      await sandbox.setTimeout(3_600_000);
      const info = await sandbox.getInfo();
      assert.deepEqual([info.sandboxId, info.state, info.cpuCount], [sandbox.sandboxId, "running", 2]);
      assert.ok(info.endAt.getTime() > Date.now() + 3_500_000);
      assert.equal((await sdk.Sandbox.connect(sandbox.sandboxId, options)).sandboxId, sandbox.sandboxId);
      assert.equal(await sandbox.isRunning(), true);
      assert.equal(await sandbox.kill(), true);
      assert.equal(await sandbox.kill(), false);
      const error = await failure(sandbox.getInfo(), sdk.NotFoundError);
      assert.equal(error.reason, "sandbox_not_found");
    },
  ],
  [
    "list pages, and all items of all pages, filtered by metadata",
    async ({ sdk, options }) => {
      for (let i = 0; i < 5; i++) await sdk.Sandbox.create({ ...options, metadata: { "k&": "v=1" } });
      const paginator = sdk.Sandbox.list({ ...options, metadata: { "k&": "v=1" }, limit: 2 });
      const pages: number[] = [];
      while (paginator.hasNext) pages.push((await paginator.nextItems()).length);
      assert.deepEqual(pages, [2, 2, 1]);
      let all = 0;
      for await (const { metadata } of sdk.Sandbox.list({ ...options, limit: 2 })) all += metadata ? 1 : 0;
      assert.equal(all, 6);
    },
  ],
  [
    "host names and signed URLs",
    async ({ sdk, sandbox, url, options }) => {
      assert.equal(sandbox.getHost(8080), `8080-${sandbox.sandboxId}.localhost:${new URL(url).port}`);
      const elsewhere = await sdk.Sandbox.connect(sandbox.sandboxId, { ...options, domain: "boxes.example" });
      assert.equal(elsewhere.getHost(8080), `8080-${sandbox.sandboxId}.boxes.example`);
      const signed = new URL(await sandbox.downloadUrl("/a b", { user: "me", expiresInSeconds: 60 }));
      assert.equal(signed.origin, url);
      assert.deepEqual([...signed.searchParams.keys()], ["username", "path", "signature", "signature_expiration"]);
      assert.equal(new URL(await elsewhere.uploadUrl()).host, `49983-${sandbox.sandboxId}.boxes.example`);
    },
  ],
  [
    "files: write, read in each form, exists, info, errors",
    async ({ sdk, sandbox }) => {
      await sandbox.files.write("a", "héllo");
      assert.equal(await sandbox.files.read("a"), "héllo");
      assert.deepEqual(await sandbox.files.read("a", { format: "bytes" }), new TextEncoder().encode("héllo"));
      assert.equal(await (await sandbox.files.read("a", { format: "blob" })).text(), "héllo");
      assert.equal(await new Response(await sandbox.files.read("a", { format: "stream" })).text(), "héllo");
      await sandbox.files.write("b", new Blob(["from ", "a ", "stream"]).stream());
      assert.equal(await sandbox.files.read("b"), "from a stream");
      await sandbox.files.write("c", new Uint8Array());
      assert.equal(await sandbox.files.read("c"), "");
      assert.deepEqual([await sandbox.files.exists("a"), await sandbox.files.exists("z")], [true, false]);
      assert.equal((await sandbox.files.getInfo("a")).size, 6);
      const error = await failure(sandbox.files.read("z"), sdk.NotFoundError);
      assert.deepEqual([error.reason, error.status], ["file_not_found", 404]);
      const unsupported = await failure(sandbox.files.list("/"), sdk.UnsupportedError);
      assert.equal(unsupported.code, "unimplemented");
    },
  ],
  [
    "a watch delivers in order and stops",
    async ({ sdk, sandbox, platform }) => {
      const events: string[] = [];
      const exits: unknown[] = [];
      const onEvent = ({ type, name }: Sdk.FileEvent) => void events.push(`${type} ${name}`);
      const watch = await sandbox.files.watchDir("/", onEvent, { onExit: (error) => void exits.push(error) });
      while (events.length < 2) await sleep(5);
      await watch.stop();
      assert.deepEqual([events, exits], [["create a.txt", "write a.txt"], [undefined]]);
      const broken = new Promise<unknown>((onExit) => void sandbox.files.watchDir("/", () => {}, { onExit }));
      await sleep(50);
      platform.dropConnections();
      assert.ok((await broken) instanceof sdk.ConnectionError);
    },
  ],
  [
    "a terminal gets input and gives bytes",
    async ({ sdk, sandbox }) => {
      let seen = "";
      const onData = (data: Uint8Array) => {
        seen += new TextDecoder().decode(data);
      };
      const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData, argv: ["/bin/sh"] });
      await sandbox.pty.resize(terminal.pid, { cols: 100 });
      await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("echo $TERM; exit 3\n"));
      const error = await failure(terminal.wait(), sdk.CommandExitError);
      assert.deepEqual([error.exitCode, seen], [3, "xterm-256color\n"]);
      const wrong = await failure(sandbox.pty.create({ cols: 0, rows: 24 }), sdk.InvalidArgumentError);
      assert.equal(wrong.code, "invalid_argument");
    },
  ],
];

export const CASES: readonly Case[] = [...COMMAND_CASES, ...FAILURE_CASES, ...SANDBOX_CASES];
