import assert from "node:assert/strict";
import type * as Sdk from "../../index.ts";
import { type Case, failure, until } from "../bench.ts";

export const SANDBOX_CASES: readonly Case[] = [
  [
    "create, info, timeout, kill",
    async ({ sdk, sandbox, options }) => {
      await sandbox.setTimeout(3_600_000);
      const info = await sandbox.getInfo();
      assert.deepEqual([info.sandboxId, info.state, info.cpuCount], [sandbox.sandboxId, "running", 2]);
      assert.deepEqual(info.lifecycle, { onTimeout: "kill", autoResume: false });
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
    "isRunning keeps to its signal and its time limit",
    async ({ sdk, sandbox, platform }) => {
      platform.silent = true;
      const late = await failure(sandbox.isRunning({ requestTimeoutMs: 50 }), sdk.TimeoutError);
      assert.equal(late.reason, "request_timeout");
      const controller = new AbortController();
      const asked = failure(sandbox.isRunning({ signal: controller.signal }), sdk.AbortError);
      controller.abort("enough");
      assert.equal((await asked).cause, "enough");
      await failure(sandbox.isRunning({ signal: AbortSignal.abort() }), sdk.AbortError);
    },
  ],
  [
    "the network's rules go out whole, and a server without them says so",
    async ({ sdk, sandbox, platform, options }) => {
      const network = { allowOut: ["1.1.1.1"], denyOut: ["0.0.0.0/0"], allowPublicTraffic: false };
      platform.seen.length = 0;
      await sdk.Sandbox.create({ ...options, network });
      assert.deepEqual(JSON.parse(platform.seen[0]?.body ?? "").network, network);
      platform.nextAnswers.push((response) => response.writeHead(204).end());
      await sandbox.updateNetwork({ denyOut: ["10.0.0.0/8"], allowInternetAccess: true });
      const sent = platform.seen.at(-1);
      assert.deepEqual(
        [sent?.method, sent?.path, JSON.parse(sent?.body ?? "")],
        ["PUT", `/sandboxes/${sandbox.sandboxId}/network`, { denyOut: ["10.0.0.0/8"], allow_internet_access: true }],
      );
      assert.equal((await failure(sandbox.updateNetwork({}), sdk.UnsupportedError)).reason, "no_such_route");
    },
  ],
  [
    "logs, and API keys",
    async ({ sdk, sandbox, platform, options }) => {
      const since = new Date("2026-01-01T00:00:00Z");
      const [entry] = await sandbox.getLogs({ since, level: "info", search: "a b", limit: 5 });
      assert.deepEqual(entry, { timestamp: since, level: "info", message: "Sandbox started", fields: { event: "started" } });
      const query = "direction=forward&cursor=1767225600000&level=info&search=a+b&limit=5";
      assert.equal(platform.seen.at(-1)?.path, `/v2/sandboxes/${sandbox.sandboxId}/logs?${query}`);
      const created = await sdk.ApiKeys.create("ci", options);
      assert.deepEqual([created.key, created.name, created.hint], ["e2b_new", "ci", "e2b_12ab…cd34"]);
      assert.deepEqual(
        (await sdk.ApiKeys.list(options)).map(({ id, lastUsedAt }) => [id, lastUsedAt]),
        [["k1", undefined]],
      );
      assert.deepEqual([await sdk.ApiKeys.revoke("k1", options), await sdk.ApiKeys.revoke("k2", options)], [true, false]);
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
      await until(() => events.length === 2);
      await watch.stop();
      assert.deepEqual([events, exits], [["create a.txt", "write a.txt"], [undefined]]);
      await sandbox.files.watchDir("/", () => {}, { onExit: (error) => void exits.push(error) });
      platform.dropConnections();
      await until(() => exits.length === 2);
      assert.ok(exits[1] instanceof sdk.ConnectionError);
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
