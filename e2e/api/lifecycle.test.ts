import { describe, expect, test } from "bun:test";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

interface Sandbox {
  readonly sandboxID: string;
  readonly envdAccessToken?: string;
  readonly endAt?: string;
  readonly startedAt?: string;
}

async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Sandbox; headers: Headers }> {
  const reply = await platform().api({ method, path, ...(body !== undefined && { body }) });
  return { ...reply, body: reply.body as Sandbox };
}

/** Bun's `toMatchObject` writes the matchers of its argument into what it is given, so it gets a copy. */
const copy = <T>(value: T): T => structuredClone(value);

const FIELDS = {
  templateID: expect.any(String),
  sandboxID: expect.stringMatching(/^i[a-z0-9]{20}$/),
  clientID: expect.any(String),
  envdVersion: "0.6.13",
  envdAccessToken: expect.any(String),
};

const lifetimeOf = ({ startedAt = "", endAt = "" }: Sandbox) => Math.round((Date.parse(endAt) - Date.parse(startedAt)) / 1000);

describe.each([
  ["v1", "/sandboxes", 15],
  ["v2", "/v2/sandboxes", 300],
])("create in %s", (_, path, defaultTimeout) => {
  test("answers 201 with every field, and the sandbox can be read, listed and deleted once", async () => {
    const created = await call("POST", path, { templateID: "base", metadata: { path } });
    expect(created.status).toBe(201);
    expect(copy(created.body)).toMatchObject(FIELDS);
    const { sandboxID } = created.body;

    const detail = await call("GET", `/sandboxes/${sandboxID}`);
    expect(detail.status).toBe(200);
    expect(detail.body).toMatchObject({ sandboxID, state: "running", metadata: { path }, alias: "base", cpuCount: 2, memoryMB: 1024 });
    expect(lifetimeOf(detail.body)).toBe(defaultTimeout);

    for (const list of ["/sandboxes", "/v2/sandboxes"]) {
      const listed = await call("GET", list);
      expect(listed.status).toBe(200);
      expect(listed.body as unknown as Sandbox[]).toContainEqual(expect.objectContaining({ sandboxID, state: "running" }));
    }
    expect((await call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
    expect((await call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(404);
    expect((await call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  });

  test("an optional field is left out, never null", async () => {
    const created = await call("POST", path, { templateID: "base", timeout: 30 });
    const detail = await call("GET", `/sandboxes/${created.body.sandboxID}`);
    await call("DELETE", `/sandboxes/${created.body.sandboxID}`);
    const nullable = ["trafficAccessToken", "domain", "allowInternetAccess"];
    const nulls = [...Object.entries(created.body), ...Object.entries(detail.body)].filter(
      ([name, value]) => value === null && !nullable.includes(name),
    );
    expect(nulls).toEqual([]);
  });
});

test("connect answers 200 to a running sandbox, never shortens its life, and takes an empty body in v2", async () => {
  const created = await call("POST", "/sandboxes", { templateID: "base", timeout: 600 });
  const { sandboxID } = created.body;
  const endAt = async () => Date.parse((await call("GET", `/sandboxes/${sandboxID}`)).body.endAt ?? "");
  const before = await endAt();

  const connected = await call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 10 });
  expect(connected.status).toBe(200);
  expect(copy(connected.body)).toMatchObject({ ...FIELDS, sandboxID, envdAccessToken: created.body.envdAccessToken });
  expect(await endAt()).toBe(before);

  expect((await call("POST", `/v2/sandboxes/${sandboxID}/connect`)).status).toBe(200);
  expect((await call("POST", `/v2/sandboxes/${sandboxID}/connect`, {})).status).toBe(200);
  const from = Date.now();
  expect((await call("POST", `/v2/sandboxes/${sandboxID}/connect`, { timeout: 1200 })).status).toBe(200);
  expect(await endAt()).toBeWithin(from + 1_200_000, Date.now() + 1_200_001);

  const shortenedFrom = Date.now();
  expect((await call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 60 })).status).toBe(204);
  expect(await endAt()).toBeWithin(shortenedFrom + 60_000, Date.now() + 60_001);
  await call("DELETE", `/sandboxes/${sandboxID}`);
});

test("the older form of an id, with a client's suffix, names the same sandbox", async () => {
  const { sandboxID } = (await call("POST", "/sandboxes", { templateID: "base", timeout: 60 })).body;
  expect((await call("GET", `/sandboxes/${sandboxID}-6532622b`)).body.sandboxID).toBe(sandboxID);
  expect((await call("DELETE", `/sandboxes/${sandboxID}-6532622b`)).status).toBe(204);
});

test("an empty answer other than 204 has a Content-Length of 0", async () => {
  const name = `empty-answer-${crypto.randomUUID().slice(0, 8)}`;
  const { templateID, buildID } = (await call("POST", "/v3/templates", { name })).body as unknown as Record<string, string>;
  const started = await call("POST", `/v2/templates/${templateID}/builds/${buildID}`, { fromTemplate: "base", steps: [] });
  expect([started.status, started.headers.get("content-length")]).toEqual([202, "0"]);
  expect((await call("DELETE", `/templates/${templateID}`)).status).toBe(204);
});

test("a client that wants an MCP gateway of a template without one is told by the command, and leaves no sandbox", async () => {
  const metadata = { mcp: crypto.randomUUID() };
  const failed = await createSandbox(platform(), { mcp: {}, metadata }).catch((error: unknown) => error);
  expect(String(failed)).toContain("mcp-gateway: command not found");
  const left = await call("GET", `/v2/sandboxes?metadata=${encodeURIComponent(`mcp=${metadata.mcp}`)}`);
  expect(left.body as unknown).toEqual([]);
});
