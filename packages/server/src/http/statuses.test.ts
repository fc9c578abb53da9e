import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { connectRaw } from "../testing/raw.ts";
import { TestServer } from "../testing/test-server.ts";
import { createApp } from "./app.ts";

const ROOT = join(import.meta.dir, "../../../..");
const NOBODY = "i00000000000000000000";
const base = { templateID: "base" };

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "1" } });
});
afterAll(() => s[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly body: { readonly code?: number; readonly message?: string; readonly error_code?: string };
  readonly headers: Headers;
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
}

/** A request that gets each status of docs/status-codes.md. A status that only an agent answers has the path of a test file that has the status in a title. */
const WAYS: Readonly<Record<number, string | (() => Promise<Answer>)>> = {
  400: () => s.call("POST", "/sandboxes", {}),
  401: () => s.call("GET", "/sandboxes", undefined, { "X-API-Key": "" }),
  403: async () => {
    const { sandboxID } = await s.create({ network: { allowPublicTraffic: false } });
    const answer = await fetch(s.url, { headers: { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": "8080" } }).then(answerOf);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    return answer;
  },
  404: () => s.call("GET", `/sandboxes/${NOBODY}`),
  405: () => s.call("PATCH", "/sandboxes"),
  408: "packages/agent/src/files/upload/upload.test.ts",
  409: async () => {
    const { sandboxID } = await s.create();
    const answer = await s.call("POST", `/sandboxes/${sandboxID}/resume`);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    return answer;
  },
  411: async () => {
    const { templateID } = (await s.call("POST", "/v3/templates", { name: "status-411" })).body;
    const { url } = (await s.call("GET", `/templates/${templateID}/files/${"a".repeat(64)}`)).body;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("x"));
        controller.close();
      },
    });
    const answer = await fetch(url, { method: "PUT", body }).then(answerOf);
    await s.call("DELETE", `/templates/${templateID}`);
    return answer;
  },
  413: () => s.call("POST", "/sandboxes", `{"templateID":"${"x".repeat(17 << 20)}"}`),
  422: async () => {
    const key = { "Idempotency-Key": "status-422" };
    const { body } = await s.call("POST", "/v2/sandboxes", base, key);
    const answer = await s.call("POST", "/v2/sandboxes", { ...base, timeout: 5 }, key);
    await s.call("DELETE", `/sandboxes/${body.sandboxID}`);
    return answer;
  },
  429: async () => {
    const { sandboxID } = await s.create();
    const answer = await s.call("POST", "/v2/sandboxes", base);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    return answer;
  },
  431: async () => {
    const client = await connectRaw(s.port);
    client.send(`GET / HTTP/1.1\r\nHost: h\r\nX-Large: ${"x".repeat(70_000)}\r\n\r\n`);
    const [head = "", body = ""] = (await client.isClosed()).split("\r\n\r\n");
    return { status: Number(head.split(" ")[1]), headers: new Headers(), body: JSON.parse(body) };
  },
  499: async () => {
    const gone = AbortSignal.abort();
    const headers = { "X-API-Key": s.apiKey, "Content-Type": "application/json" };
    const request = new Request(`${s.url}/v2/sandboxes`, { method: "POST", headers, signal: gone });
    const call = { body: () => Promise.resolve(Buffer.from(JSON.stringify(base))), trust() {}, note() {}, noted: {} };
    return answerOf(await createApp(s.server.context).fetch(request, call));
  },
  500: () => {
    s.world.faults.add("create", { kind: "fail" });
    return s.call("POST", "/v2/sandboxes", base);
  },
  501: async () => {
    const { sandboxID } = await s.create();
    // As a driver without snapshots answers.
    s.world.faults.add("capture", { kind: "fail", error: new AppError("unimplemented", "The fake driver keeps no snapshots") });
    const answer = await s.call("POST", `/sandboxes/${sandboxID}/snapshots`, {});
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    return answer;
  },
  502: () => fetch(s.url, { headers: { "Svc-Sandbox-Id": NOBODY, "Svc-Sandbox-Port": "49983" } }).then(answerOf),
  503: async () => {
    const { store } = s.server.context;
    const { insertSandbox } = store;
    const { storeFault } = await import("../store/index.ts");
    store.insertSandbox = () => Promise.reject(storeFault(Object.assign(new Error("full"), { code: "SQLITE_FULL" })));
    const answer = await s.call("POST", "/v2/sandboxes", base);
    store.insertSandbox = insertSandbox;
    return answer;
  },
  504: async () => {
    await using impatient = await TestServer.start({ agentLimitMs: 50 });
    impatient.world.initManner = "hang";
    return await impatient.call("POST", "/v2/sandboxes", base);
  },
  507: async () => {
    await using small = await TestServer.start({ env: { BOXYARD_MAX_BUILD_FILES_MIB: "1" } });
    const { templateID } = (await small.call("POST", "/v3/templates", { name: "large" })).body;
    const { url } = (await small.call("GET", `/templates/${templateID}/files/${"a".repeat(64)}`)).body;
    return answerOf(await fetch(url, { method: "PUT", body: new Uint8Array(2 << 20) }));
  },
};

const documented = [...readFileSync(join(ROOT, "docs/status-codes.md"), "utf8").matchAll(/^\| (\d{3}) \|/gm)].map(([, status]) =>
  Number(status),
);

test("every status that is documented is tested, and no other", () => {
  expect(Object.keys(WAYS).map(Number).sort()).toEqual(documented.sort());
});

for (const status of documented) {
  test(`${status} is answered, as JSON that repeats it`, async () => {
    const way = WAYS[status];
    if (typeof way === "string") {
      const names = [...readFileSync(join(ROOT, way), "utf8").matchAll(/^\s*test\w*(?:\.each\([^\n]*\))?\(\s*(["'`])(.*?)\1/gm)].map(
        (found) => found[2],
      );
      expect(names).toContainEqual(expect.stringMatching(new RegExp(`\\b${status}\\b`)));
      return;
    }
    const answer = await way?.();
    expect(answer?.body).toMatchObject({ code: status, message: expect.stringMatching(/\w/) });
    expect(answer?.status).toBe(status);
    expect(s.world.sandboxes.size).toBe(0);
  });
}
