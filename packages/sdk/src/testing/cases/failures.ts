import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type Case, failure, sleep } from "../bench.ts";
import { sendJson } from "../fake-wire.ts";

export const FAILURE_CASES: readonly Case[] = [
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
    "a restarted server is told from a connection that was cut",
    async ({ sdk, sandbox, platform, url }) => {
      const read = await sandbox.commands.run("sleep 30", { background: true });
      await platform.stop();
      // Time alone: as long as a restart takes.
      await sleep(300);
      await platform.start(Number(new URL(url).port));
      assert.equal((await failure(read.wait(), sdk.ConnectionError)).reason, "server_restarted");
      const later = await sandbox.commands.run("sleep 30", { background: true });
      platform.dropConnections();
      assert.equal((await failure(later.wait(), sdk.ConnectionError)).reason, "stream_dropped");
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
    "create waits for an earlier attempt with its key as long as its time allows",
    async ({ sdk, platform, options }) => {
      platform.seen.length = 0;
      const body = JSON.stringify({ code: 409, message: "in progress", error_code: "idempotency_in_progress" });
      for (let i = 0; i < 6; i++) platform.nextAnswers.push((response) => response.writeHead(409, { "Retry-After": "0" }).end(body));
      await sdk.Sandbox.create(options);
      assert.equal(platform.seen.length, 7);
      const busy = () => platform.nextAnswers.push((response) => response.writeHead(503, { "Retry-After": "0" }).end("{}"));
      for (let i = 0; i < 4; i++) busy();
      await failure(sdk.Sandbox.create(options), sdk.ConnectionError);
      assert.equal(platform.seen.length, 11);
    },
  ],
  [
    "a kill that is repeated tells whether it can have been the one: not after a 429 or 503, but after a gateway that failed",
    async ({ sdk, platform, options }) => {
      const gone = (response: ServerResponse) => sendJson(response, 404, { code: 404, message: "none" });
      const busy = (status: number) => (response: ServerResponse) => {
        response.setHeader("Retry-After", "0");
        return sendJson(response, status, { code: status, message: "busy" });
      };
      for (const [first, killed] of [
        [busy(429), false],
        [busy(503), false],
        [busy(502), true],
        [busy(504), true],
      ] as const) {
        platform.nextAnswers.push(first, gone);
        assert.equal(await sdk.Sandbox.kill("i1", options), killed);
      }
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
