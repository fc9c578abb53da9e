import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@boxyard/core";
import { BodyBudget } from "../body/budget.ts";
import { type AgentContext, httpErrorOf, type RpcCall } from "../contracts.ts";
import { unaryError } from "../rpc/errors.ts";
import { fileRoutes, filesystemHandlers } from "./index.ts";

/* A path that the kernel refuses is an error of the request: 4xx, whatever the path names. 500 is left for faults of the sandbox. */

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "boxyard-statuses-"));
  mkdirSync(join(home, "directory"));
  writeFileSync(join(home, "file"), "text");
});
afterEach(() => rmSync(home, { recursive: true }));

function context(): AgentContext {
  const user = { name: "me", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home, shell: "", groups: [] };
  return {
    state: { isInitialised: true, defaultUser: "me", defaultWorkdir: undefined, accessToken: undefined, env: {} },
    users: { byName: () => user, userName: String, groupName: String },
    clock: systemClock,
    bodies: new BodyBudget({ totalBytes: 0, freeBytes: 1_000_000, waitMs: 0, collectBytes: 1e9 }, () => {}),
    log() {},
  };
}

/** Status and body of `method /files`, with a body of one byte for an upload. */
async function files(method: "GET" | "POST", path: string): Promise<[number, unknown]> {
  const route = fileRoutes(context()).find((each) => each.method === method && each.path === "/files");
  const upload = { body: "x", headers: { "Content-Type": "application/octet-stream", "Content-Length": "1" } };
  const request = new Request("http://agent/files", { method, ...(method === "POST" && upload) });
  const call = { request, signal: request.signal, query: new URLSearchParams({ path }) };
  const answer = await Promise.resolve(route?.handle(call)).catch(httpErrorOf);
  return [answer?.status ?? 0, await answer?.text()];
}

/** Status and code of an RPC that fails. */
async function rpc(method: "Move" | "Remove", message: object): Promise<[number, unknown]> {
  const call = { username: "me", signal: new AbortController().signal, header: () => null, setHeader() {} } as unknown as RpcCall;
  const run = filesystemHandlers(context())[method] as (input: object, call: RpcCall) => Promise<unknown>;
  const failure = unaryError(await run(message, call).catch((error: unknown) => error));
  return [failure.status, ((await failure.json()) as { code: string }).code];
}

test.each([
  ["that no user may read", "GET", "/proc/sys/vm/drop_caches", 403, "error opening file '/proc/sys/vm/drop_caches': EACCES"],
  [
    "of the kernel that refuses a read",
    "GET",
    "/proc/self/mem",
    400,
    "read '/proc/self/mem': a file of the kernel, which refuses it with EIO",
  ],
  [
    "of the kernel that refuses a write",
    "POST",
    "/proc/self/mem",
    400,
    "write '/proc/self/mem': a file of the kernel, which refuses it with EIO",
  ],
  ["that no user may write", "POST", "/proc/sys/kernel/ostype", 403, "write '/proc/sys/kernel/ostype': permission denied"],
] as const)("a file %s: %s %s is %d", async (_what, method, path, status, message) => {
  const [answered, text] = await files(method, path);
  expect([answered, JSON.parse(String(text))]).toEqual([status, { code: status, message }]);
});

test("an entry that cannot be removed, and a destination that is a mount point", async () => {
  expect(await rpc("Remove", { path: "/proc/self/environ" })).toEqual([403, "permission_denied"]);
  expect(await rpc("Move", { source: "/proc/self/environ", destination: join(home, "moved") })).toEqual([403, "permission_denied"]);
  expect(await rpc("Move", { source: "directory", destination: "/proc" })).toEqual([400, "failed_precondition"]);
});
