import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { platformDocument } from "@boxyard/spec/platform-document";
import { TestServer } from "../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

const UNKNOWN = "i00000000000000000000";

describe("errors", () => {
  test.each([
    ["GET", "/sandboxes", undefined, { "X-API-Key": "" }, 401, "The API key is missing: send it in the header X-API-Key"],
    ["GET", "/sandboxes", undefined, { "X-API-Key": "e2b_00" }, 401, "Invalid API key: it is not one of this server's"],
    ["PATCH", "/v2/sandboxes", undefined, {}, 405, "PATCH is not allowed here, only GET, POST"],
    ["GET", `/sandboxes/${UNKNOWN}`, undefined, {}, 404, `Sandbox "${UNKNOWN}" doesn't exist or you don't have access to it`],
    ["DELETE", `/sandboxes/${UNKNOWN}`, undefined, {}, 404, `Sandbox "${UNKNOWN}" doesn't exist or you don't have access to it`],
    ["POST", `/sandboxes/${UNKNOWN}/timeout`, { timeout: 1 }, {}, 404, `Sandbox "${UNKNOWN}" doesn't exist or you don't have access to it`],
    ["POST", `/v2/sandboxes/${UNKNOWN}/connect`, undefined, {}, 404, `Sandbox "${UNKNOWN}" doesn't exist or you don't have access to it`],
    ["POST", "/sandboxes/Bad_Id/connect", { timeout: 86_401 }, {}, 400, "timeout: Timeout cannot be greater than 24 hours"],
    ["POST", "/sandboxes/Bad_Id/timeout", { timeout: 86_401 }, {}, 400, "timeout: Timeout cannot be greater than 24 hours"],
    [
      "GET",
      "/sandboxes",
      undefined,
      { "X-Team-ID": "other" },
      400,
      "The API key does not belong to the team that the header X-Team-ID names",
    ],
    ["GET", "/templates/base/builds/none/status", undefined, {}, 400, "Invalid build ID: 'none' is no UUID"],
    ["GET", `/templates/base/builds/${crypto.randomUUID()}/status`, undefined, {}, 404, expect.stringMatching(/^Build '.*' not found$/)],
    ["GET", "/sandboxes/Bad_Id", undefined, {}, 404, `Sandbox "Bad_Id" doesn't exist or you don't have access to it`],
    ["GET", "/sandboxes/a.b", undefined, {}, 400, "Invalid sandbox ID"],
    ["POST", "/sandboxes", "{", {}, 400, "validation error: the body is not valid JSON"],
    ["POST", "/sandboxes", "", {}, 400, "validation error: body: is required"],
    ["POST", "/sandboxes", "[]", {}, 400, "validation error: body: Invalid input: expected object, received array"],
    ["POST", "/sandboxes", {}, {}, 400, "validation error: templateID: is required"],
    ["POST", "/sandboxes", { templateID: 5 }, {}, 400, "validation error: templateID: Invalid input: expected string, received number"],
    ["POST", "/sandboxes", { templateID: "base", timeout: 0 }, {}, 400, "timeout: Timeout must be greater than 0"],
    ["POST", "/sandboxes", { templateID: "base", timeout: 1.5 }, {}, 400, "validation error: timeout: must be a whole number of seconds"],
    ["POST", "/sandboxes", { templateID: "base", timeout: 86_401 }, {}, 400, "timeout: Timeout cannot be greater than 24 hours"],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", metadata: { a: 1 } },
      {},
      400,
      "validation error: metadata.a: Invalid input: expected string, received number",
    ],
    ["POST", "/sandboxes", { templateID: "base", envVars: { "a=b": "" } }, {}, 400, "envVars: 'a=b' is not a variable name"],
    ["POST", "/sandboxes", { templateID: "base", autoPauseMemory: false }, {}, 400, "autoPauseMemory: false needs autoPause"],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", secure: false, network: { allowPublicTraffic: false } },
      {},
      400,
      "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag.",
    ],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", network: { allowPublicTraffic: false } },
      {},
      400,
      "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag.",
    ],
    [
      "POST",
      "/v2/sandboxes",
      { templateID: "base", iam: { tokens: { a: { audience: "x", tokenType: "JWT-SVID" } } } },
      {},
      400,
      "iam: this server does not have this yet",
    ],
    [
      "POST",
      "/v2/sandboxes",
      { templateID: "base", network: { denyOut: ["0.0.0.0/0", "1.2.3.4/33"] } },
      {},
      400,
      "network.denyOut: invalid denied CIDR 1.2.3.4/33",
    ],
    ["POST", "/v2/sandboxes", { templateID: "base", autoResume: {} }, {}, 400, "validation error: autoResume.enabled: is required"],
    ["POST", `/sandboxes/${UNKNOWN}/connect`, {}, {}, 400, "validation error: timeout: is required"],
    ["POST", `/sandboxes/${UNKNOWN}/connect`, { timeout: -1 }, {}, 400, "validation error: timeout: must not be negative"],
    ["POST", `/v2/sandboxes/${UNKNOWN}/connect`, { timeout: 86_401 }, {}, 400, "timeout: Timeout cannot be greater than 24 hours"],
    ["POST", `/sandboxes/${UNKNOWN}/timeout`, { timeout: 86_401 }, {}, 400, "timeout: Timeout cannot be greater than 24 hours"],
    [
      "POST",
      `/sandboxes/${UNKNOWN}/refreshes`,
      { duration: 3601 },
      {},
      400,
      "validation error: duration: Too big: expected number to be <=3600",
    ],
    ["GET", "/sandboxes/metrics", undefined, {}, 400, "validation error: sandbox_ids: is required"],
    ["GET", `/v2/sandboxes/${UNKNOWN}/logs?limit=1001`, undefined, {}, 400, "validation error: limit: must be from 0 to 1000"],
    ["GET", "/v2/sandboxes?startedAfter=yesterday", undefined, {}, 400, "validation error: startedAfter: Invalid ISO datetime"],
    ["GET", "/v2/sandboxes?limit=0", undefined, {}, 400, "validation error: limit: must be from 1 to 100"],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", network: { allowOut: ["1.1.1.1", "a..example"] } },
      {},
      400,
      "network.allowOut: 'a..example' is neither an IPv4 address, nor a network, nor a name of hosts (example.com, *.example.com, *)",
    ],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", network: { maskRequestHost: "a b" } },
      {},
      400,
      "network.maskRequestHost: must be host[:port]",
    ],
    [
      "POST",
      "/v2/sandboxes",
      { templateID: "base", network: { httpsPorts: [443, 49983] } },
      {},
      400,
      "network.httpsPorts: 49983 is the port of the sandbox's agent, which speaks no TLS",
    ],
    ["POST", "/v2/sandboxes", { templateID: "base", network: { httpsPorts: [65536] } }, {}, 400, "network.httpsPorts: 65536 is no port"],
    [
      "POST",
      "/sandboxes",
      { templateID: "base", volumeMounts: [{ name: "v", path: "/v" }] },
      {},
      400,
      "volumeMounts: there is no volume 'v'",
    ],
    [
      "POST",
      "/sandboxes",
      { templateID: "a/b/c" },
      {},
      400,
      "templateID: Invalid template reference 'a/b/c'; it is [namespace/]name[:tag]",
    ],
    ["POST", "/sandboxes", { templateID: "nope" }, {}, 404, "template 'nope' not found"],
    ["POST", "/v2/sandboxes", { templateID: "base:v9" }, {}, 404, "tag 'v9' does not exist for template 'base'"],
    ["POST", "/v2/sandboxes", { templateID: "other/base" }, {}, 404, "template 'other/base' not found"],
    ["GET", "/v2/sandboxes?limit=101", undefined, {}, 400, "validation error: limit: must be from 1 to 100"],
    ["GET", "/v2/sandboxes?state=dead", undefined, {}, 400, "state: 'dead' is neither running nor paused"],
    ["GET", "/v2/sandboxes?nextToken=zzz", undefined, {}, 400, "nextToken: is not one of this listing"],
    ["GET", "/v2/sandboxes?template=base:x", undefined, {}, 400, "template: must not have a tag"],
    ["GET", "/sandboxes?metadata=a", undefined, {}, 400, "metadata: must be k=v pairs joined by &"],
  ])("%s %s %p %p → %d", async (method, path, body, headers, status, message) => {
    const reply = await s.call(method, path, body, headers as Record<string, string>);
    expect([reply.status, reply.body]).toEqual([status, { code: status, message }]);
    expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(s.world.sandboxes.size).toBe(0);
  });

  test.each(["nonexistingsandbox", "non-existing-sandbox"])("every operation on the unknown sandbox '%s' is a 404", async (id) => {
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["GET", "/metrics", undefined],
      ["GET", "/logs", undefined],
      ["POST", "/connect", { timeout: 1 }],
      ["POST", "/timeout", { timeout: 1 }],
      ["POST", "/pause", {}],
      ["POST", "/fork", {}],
      ["POST", "/snapshots", {}],
      ["PUT", "/network", {}],
    ] as const) {
      const reply = await s.call(method, `/sandboxes/${id}${path}`, body);
      expect([path, reply.status, reply.body.code]).toEqual([path, 404, 404]);
    }
  });

  test("a path without an operation has an error code of its own, so that programs can tell it from a missing resource", async () => {
    const message = "There is nothing at /nothing";
    expect((await s.call("GET", "/nothing")).body).toEqual({ code: 404, message, error_code: "no_such_route" });
  });

  test("a body that is nested too deep, or too large, is refused before it is parsed", async () => {
    expect((await s.call("POST", "/sandboxes", "[".repeat(100_000))).body.message).toContain("nested deeper than 64 levels");
    const large = await s.call("POST", "/sandboxes", `{"templateID":"${"x".repeat(17 << 20)}"}`);
    expect([large.status, large.body.code]).toEqual([413, 413]);
  });

  test("a body in chunks without a content type is understood", async () => {
    const response = await fetch(`${s.url}/sandboxes`, {
      method: "POST",
      headers: { "X-API-Key": s.apiKey },
      body: new ReadableStream({
        start(controller) {
          for (const part of ['{"templateID"', ':"nope"}']) controller.enqueue(new TextEncoder().encode(part));
          controller.close();
        },
      }),
    });
    expect(response.status).toBe(404);
  });
});

describe("a sandbox", () => {
  test("goes through its life", async () => {
    const created = await s.call("POST", "/sandboxes", {
      templateID: " Default/BASE:default ",
      timeout: 60,
      metadata: { a: "1" },
      envVars: { X: "1", E2B_SANDBOX: "no" },
      secure: false,
      unknownMember: { tolerated: true },
      mcp: { some: { server: {} } },
      autoPause: false,
      autoResume: { enabled: false },
      autoPauseMemory: true,
      iam: { tokens: {} },
      volumeMounts: [],
      network: { allowPublicTraffic: null, allowOut: [], denyOut: [], httpsPorts: [], rules: {}, egressProxy: null },
    });
    const { sandboxID, templateID, envdAccessToken } = created.body;
    expect(created.status).toBe(201);
    expect(created.body).toEqual({ templateID, sandboxID, clientID: "boxyard", envdVersion: "0.6.13", alias: "base", envdAccessToken });
    expect(sandboxID).toMatch(/^i[a-z0-9]{20}$/);
    expect(envdAccessToken).toMatch(/^[0-9a-f]{64}$/);
    const [init] = s.world.sandboxes.get(sandboxID)?.agent?.inits ?? [];
    expect(init).toMatchObject({
      accessToken: envdAccessToken,
      envVars: { FROM_TEMPLATE: "1", X: "1", E2B_SANDBOX: "true", E2B_SANDBOX_ID: sandboxID, E2B_TEMPLATE_ID: templateID },
      defaultUser: "user",
      defaultWorkdir: "/home/user",
    });

    const detail = (await s.call("GET", `/sandboxes/${sandboxID}-oldclient`)).body;
    expect(detail).toMatchObject({
      sandboxID,
      state: "running",
      cpuCount: 2,
      memoryMB: 1024,
      diskSizeMB: 10240,
      metadata: { a: "1" },
      envdAccessToken,
    });
    expect(detail).toMatchObject({ allowInternetAccess: true, lifecycle: { autoResume: false, onTimeout: "kill" } });
    expect(Date.parse(detail.endAt) - Date.parse(detail.startedAt)).toBe(60_000);

    const connected = await s.call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 10 });
    expect([connected.status, connected.body]).toEqual([200, created.body]);
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.endAt).toBe(detail.endAt);
    /** The sandbox lives so long from a moment at which these requests were under way. */
    const livesOn = async (seconds: number, ...requests: [path: string, body?: unknown][]) => {
      const from = Date.now();
      for (const [path, body] of requests) expect((await s.call("POST", path, body)).status).toBe(path.endsWith("/connect") ? 200 : 204);
      const endAt = Date.parse((await s.call("GET", `/sandboxes/${sandboxID}`)).body.endAt);
      expect(endAt - seconds * 1000).toBeWithin(from, Date.now() + 1);
    };
    const [timeout, refreshes] = [`/sandboxes/${sandboxID}/timeout`, `/sandboxes/${sandboxID}/refreshes`];
    await livesOn(300, [`/v2/sandboxes/${sandboxID}/connect`, ""]);
    await livesOn(15, [timeout, { timeout: 5 }], [refreshes, { duration: 1 }]);
    await livesOn(20, [timeout, { timeout: 20 }], [refreshes]);
    await livesOn(100, [refreshes, { duration: 100 }]);
    expect((await s.call("POST", `/sandboxes/${sandboxID}/resume`)).status).toBe(409);

    expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
    expect(s.world.sandboxes.size).toBe(0);
    for (const [method, path] of [
      ["DELETE", ""],
      ["GET", ""],
      ["POST", "/resume"],
    ] as const) {
      expect((await s.call(method, `/sandboxes/${sandboxID}${path}`)).status).toBe(404);
    }
  });

  test("ends when its time has come, and not before", async () => {
    const { sandboxID } = await s.create();
    await s.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 1 });
    const due = Date.parse((await s.call("GET", `/sandboxes/${sandboxID}`)).body.endAt);
    while ((await s.call("GET", `/sandboxes/${sandboxID}`)).status === 200) await Bun.sleep(2);
    expect(Date.now()).toBeGreaterThanOrEqual(due);
    const gone = await fetch(`${s.url}/health`, { headers: { "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": "49983" } });
    expect([gone.status, await gone.json()]).toEqual([
      502,
      { sandboxID, sandboxId: sandboxID, message: "The sandbox was not found", code: 502 },
    ]);
  });

  test("with a timeout of 0 or less ends at once", async () => {
    const { sandboxID } = await s.create();
    expect((await s.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: -5 })).status).toBe(204);
    while ((await s.call("GET", `/sandboxes/${sandboxID}`)).status === 200) await Bun.sleep(2);
    while (s.world.sandboxes.size > 0) await Bun.sleep(2);
  });

  test("has metrics", async () => {
    const { sandboxID } = await s.create();
    await s.server.sampler.once();
    const now = Math.floor(Date.now() / 1000);
    const { body } = await s.call("GET", `/sandboxes/${sandboxID}/metrics?start=${now - 10}&end=${now + 10}`);
    expect(body.at(-1)).toMatchObject({ cpuCount: 2, memTotal: 1 << 30, diskTotal: 10240 * 2 ** 20 });
    // The sandbox has used 1 ms since its start, and nothing since then.
    expect([body[0].cpuUsedPct > 0, body[0].cpuUsedPct < 100]).toEqual([true, true]);
    expect((await s.call("GET", `/sandboxes/${sandboxID}/metrics?start=1&end=2`)).body).toEqual([]);
    expect((await s.call("GET", `/sandboxes/${sandboxID}/metrics?start=2&end=1`)).status).toBe(400);
    const many = await s.call("GET", `/sandboxes/metrics?sandbox_ids=${sandboxID},${UNKNOWN}`);
    expect(Object.keys(many.body.sandboxes)).toEqual([sandboxID]);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
  });

  test("can be created without internet access and with private ports", async () => {
    const created = await s.create({
      allow_internet_access: false,
      network: { allowPublicTraffic: false, allowOut: [], denyOut: ["0.0.0.0/0"] },
    });
    expect(created.trafficAccessToken).toMatch(/^[0-9a-f]{64}$/);
    expect(created.trafficAccessToken).not.toBe(created.envdAccessToken);
    expect(s.world.sandboxes.get(created.sandboxID)?.spec.network).toEqual({
      internetAccess: false,
      allowOut: [],
      denyOut: ["0.0.0.0/0"],
    });
    expect((await s.call("GET", `/sandboxes/${created.sandboxID}`)).body.allowInternetAccess).toBe(false);
    await s.call("DELETE", `/sandboxes/${created.sandboxID}`);
  });
});

test("egress lists are shown as they were given", async () => {
  const { sandboxID } = await s.create({ network: { allowOut: [], denyOut: ["0.0.0.0/0", "::/0"] } });
  const shown = async () => (await s.call("GET", `/sandboxes/${sandboxID}`)).body;
  expect(await shown()).toMatchObject({ allowInternetAccess: false, network: { allowOut: [], denyOut: ["0.0.0.0/0", "::/0"] } });
  // Sandboxes have no IPv6, so this denies nothing that was open.
  await s.call("PUT", `/sandboxes/${sandboxID}/network`, { denyOut: ["::/0"] });
  expect(await shown()).toMatchObject({ allowInternetAccess: true, network: { allowPublicTraffic: true, denyOut: ["::/0"] } });
  const lists = { allowOut: ["9.9.9.9", "1.2.3.4/8"], denyOut: ["9.9.9.0/24", "2001:db8::/32"] };
  await s.call("PUT", `/sandboxes/${sandboxID}/network`, lists);
  expect(await shown()).toMatchObject({ allowInternetAccess: true, network: lists });
  expect(s.world.sandboxes.get(sandboxID)?.network).toEqual({ internetAccess: true, ...lists });
  await s.call("PUT", `/sandboxes/${sandboxID}/network`, {});
  expect((await shown()).network).toEqual({ allowPublicTraffic: true });
  await s.call("DELETE", `/sandboxes/${sandboxID}`);
});

describe("lists", () => {
  test("a filter is understood whether a client encodes its parts once or twice", async () => {
    const metadata = { "a%20b": "100%25 & more", plain: "c d" };
    const { sandboxID } = await s.create({ metadata });
    for (const rounds of [1, 2]) {
      const encoded = (text: string) => Array.from({ length: rounds }).reduce<string>(encodeURIComponent, text);
      const filter = Object.entries(metadata)
        .map(([key, value]) => `${encoded(key)}=${encoded(value)}`)
        .join("&");
      for (const path of ["/sandboxes", "/v2/sandboxes"]) {
        const { body } = await s.call("GET", `${path}?metadata=${encodeURIComponent(filter)}`);
        expect([rounds, path, body.map((item: { sandboxID: string }) => item.sandboxID)]).toEqual([rounds, path, [sandboxID]]);
      }
    }
    expect((await s.call("GET", "/sandboxes?metadata=plain%3Dcd")).body).toEqual([]);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
  });

  test("filter, order and page", async () => {
    const ids: string[] = [];
    for (const metadata of [{ n: "1", "k &=": "v+%" }, { n: "2" }, { n: "3", "k &=": "v+%" }]) {
      ids.push((await s.create({ metadata })).sandboxID);
      await Bun.sleep(3);
    }
    const [a, b, c] = ids as [string, string, string];
    const list = async (path: string) => {
      const { body, headers } = await s.call("GET", path);
      return {
        ids: body.map((item: { sandboxID: string }) => item.sandboxID),
        next: headers.get("x-next-token"),
        total: headers.get("x-total-running"),
      };
    };
    const filter = encodeURIComponent(`${encodeURIComponent("k &=")}=${encodeURIComponent("v+%")}`);
    expect((await list("/sandboxes")).ids).toEqual([c, b, a]);
    expect((await list(`/sandboxes?metadata=${filter}`)).ids).toEqual([c, a]);
    expect(await list("/v2/sandboxes")).toEqual({ ids: [c, b, a], next: null, total: "3" });
    expect((await list("/v2/sandboxes?order=asc")).ids).toEqual([a, b, c]);
    expect((await list("/v2/sandboxes?state=paused")).ids).toEqual([]);
    expect((await list("/v2/sandboxes?template=base")).ids).toHaveLength(3);
    expect((await list("/v2/sandboxes?template=code-interpreter-v1")).ids).toEqual([]);
    expect((await list("/v2/sandboxes?template=unknown")).ids).toEqual([]);
    const { startedAt } = (await s.call("GET", `/sandboxes/${b}`)).body;
    expect((await list(`/v2/sandboxes?startedAfter=${startedAt}`)).ids).toEqual([c, b]);
    for (const order of ["asc", "desc"]) {
      const first = await list(`/v2/sandboxes?limit=2&order=${order}`);
      const second = await list(`/v2/sandboxes?limit=2&order=${order}&nextToken=${first.next}`);
      expect([...first.ids, ...second.ids]).toEqual(order === "asc" ? [a, b, c] : [c, b, a]);
      expect(second.next).toBeNull();
      const other = order === "asc" ? "desc" : "asc";
      expect((await s.call("GET", `/v2/sandboxes?order=${other}&nextToken=${first.next}`)).status).toBe(400);
    }
    // A client that kills the sandboxes of each page before it asks for the next page.
    const killed: string[] = [];
    for (let token: string | null = ""; token !== null; ) {
      const page = await list(`/v2/sandboxes?limit=1${token && `&nextToken=${token}`}`);
      for (const id of page.ids) expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
      killed.push(...page.ids);
      token = page.next;
    }
    expect(killed).toEqual([c, b, a]);
  });
});

describe("around", () => {
  test("health needs no key; the document is the one of the spec", async () => {
    const health = await fetch(`${s.url}/health`);
    expect([health.status, await health.text()]).toEqual([200, "Health check successful"]);
    expect(await (await fetch(`${s.url}/openapi.json`)).json()).toEqual(JSON.parse(JSON.stringify(platformDocument())));
  });

  test("any origin may call, with any header", async () => {
    const preflight = await fetch(`${s.url}/v2/sandboxes`, {
      method: "OPTIONS",
      headers: {
        Origin: "https://a.test",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key,authorization",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("x-api-key,authorization");
    const listed = await s.call("GET", "/v2/sandboxes", undefined, { Origin: "https://a.test" });
    expect([listed.headers.get("access-control-allow-origin"), listed.headers.get("access-control-expose-headers")]).toEqual(["*", "*"]);
    expect(listed.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("every route of the document but health needs a key", async () => {
    const { paths } = platformDocument() as { paths: Record<string, Record<string, unknown>> };
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        if (path === "/health") continue;
        const reply = await s.call(method.toUpperCase(), path.replace("{sandboxID}", UNKNOWN), undefined, { "X-API-Key": "" });
        expect([path, method, reply.status]).toEqual([path, method, 401]);
      }
    }
  });
});
