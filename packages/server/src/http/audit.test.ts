import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { platformDocument } from "@boxyard/spec/platform-document";
import { BuildBench } from "../testing/build-bench.ts";
import { type Reply, TestServer } from "../testing/test-server.ts";

/*
 * Every route of the OpenAPI document that changes something leaves an event with who has done it and from where. A new route is found by itself: it must be
 * in one of the tables below, else a test fails.
 */

setDefaultTimeout(60_000);

interface Operation {
  readonly "x-boxyard-access": { readonly scope: string | null };
}
const { paths } = platformDocument() as { paths: Record<string, Record<string, Operation>> };
const CHANGING = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods)
    .filter((method) => method !== "get")
    .map((method) => `${method.toUpperCase()} ${path}`),
);

/** Routes that change nothing of the server's, each with the reason. */
const UNCHANGING: Readonly<Record<string, string>> = {
  "POST /boxyard/triggers": "reads an image or a template",
  "POST /boxyard/templates/{templateID}/push": "sends an image to a registry; the server has what it had",
  "POST /templates/{templateID}/builds/{buildID}": "is refused",
  "POST /nodes/{nodeID}": "is refused",
};

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
  s.world.checkpoint = "memory";
});
afterAll(() => s[Symbol.asyncDispose]());

/** An archive without a file. */
const EMPTY_TAR = "\0".repeat(1024);

let made = 0;
const name = () => `made-${++made}`;
const post = (path: string, body?: unknown) => s.call("POST", path, body);
const sandbox = async (body: Record<string, unknown> = {}) => (await s.create(body)).sandboxID;
const paused = async () => {
  const id = await sandbox();
  await post(`/sandboxes/${id}/pause`, {});
  return id;
};
const build = async () => (await post("/v3/templates", { name: name() })).body as { templateID: string; buildID: string };
const built = async () => {
  const of = (await new BuildBench(s).build(name(), {})) as { templateID: string };
  return of.templateID;
};
const volume = async () => (await post("/volumes", { name: name(), sizeMB: 8 })).body as { volumeID: string };
/** An archive of exchanges without one. */
const EMPTY_HAR = { log: { version: "1.2", entries: [] } };
const imported = async () => (await post(`/boxyard/recordings?name=${name()}`, EMPTY_HAR)).body.name as string;
const secret = async () => (await post("/secrets", { name: name(), value: "x" })).body.secretID as string;
const webhook = async () =>
  (await post("/events/webhooks", { name: "w", url: "https://hooks.example/x", events: ["team"], enabled: false })).body.id as string;
const team = async () => (await s.team(name())).teamID;

type Prepared = () => Promise<Reply>;
/** For each route, what must be there before it; and then its call. */
const CALLS: Readonly<Record<string, () => Promise<Prepared>>> = {
  "POST /sandboxes": async () => () => post("/sandboxes", { templateID: "base" }),
  "POST /v2/sandboxes": async () => () => post("/v2/sandboxes", { templateID: "base" }),
  "DELETE /sandboxes/{sandboxID}": async () => {
    const id = await sandbox();
    return () => s.call("DELETE", `/sandboxes/${id}`);
  },
  "PATCH /sandboxes/{sandboxID}": async () => {
    const id = await sandbox();
    return () => s.call("PATCH", `/sandboxes/${id}`, { name: name() });
  },
  "POST /sandboxes/{sandboxID}/connect": async () => {
    const id = await paused();
    return () => post(`/sandboxes/${id}/connect`, { timeout: 60 });
  },
  "POST /v2/sandboxes/{sandboxID}/connect": async () => {
    const id = await paused();
    return () => post(`/v2/sandboxes/${id}/connect`, { timeout: 60 });
  },
  "POST /sandboxes/{sandboxID}/resume": async () => {
    const id = await paused();
    return () => post(`/sandboxes/${id}/resume`, { timeout: 60 });
  },
  "POST /sandboxes/{sandboxID}/timeout": async () => {
    const id = await sandbox();
    return () => post(`/sandboxes/${id}/timeout`, { timeout: 900 });
  },
  "POST /sandboxes/{sandboxID}/refreshes": async () => {
    const id = await sandbox();
    return () => post(`/sandboxes/${id}/refreshes`, { duration: 3000 });
  },
  "PUT /sandboxes/{sandboxID}/network": async () => {
    const id = await sandbox();
    return () => s.call("PUT", `/sandboxes/${id}/network`, { denyOut: ["0.0.0.0/0"] });
  },
  "PUT /sandboxes/by-name/{sandboxName}": async () => () => s.call("PUT", `/sandboxes/by-name/${name()}`, { templateID: "base" }),
  "PUT /sandboxes/{sandboxID}/setup": async () => {
    const setup = { creator: "creator-of-this", leaseSeconds: 60 };
    const { sandboxID } = (await s.call("PUT", `/sandboxes/by-name/${name()}`, { templateID: "base", setup })).body;
    return () => s.call("PUT", `/sandboxes/${sandboxID}/setup`, { ...setup, done: true });
  },
  "PATCH /sandboxes/{sandboxID}/resources": async () => {
    const id = await sandbox();
    return () => s.call("PATCH", `/sandboxes/${id}/resources`, { memoryMB: 2048 });
  },
  "POST /sandboxes/{sandboxID}/pause": async () => {
    const id = await sandbox();
    return () => post(`/sandboxes/${id}/pause`, {});
  },
  "POST /sandboxes/{sandboxID}/fork": async () => {
    const id = await sandbox();
    return () => post(`/sandboxes/${id}/fork`, {});
  },
  "POST /sandboxes/{sandboxID}/rollback": async () => {
    const id = await sandbox();
    const { snapshotID } = (await post(`/sandboxes/${id}/snapshots`, {})).body;
    return () => post(`/sandboxes/${id}/rollback`, { snapshotID });
  },
  "POST /sandboxes/{sandboxID}/snapshots": async () => {
    const id = await sandbox();
    return () => post(`/sandboxes/${id}/snapshots`, {});
  },
  "POST /v3/templates": async () => () => post("/v3/templates", { name: name() }),
  "POST /v2/templates": async () => () => post("/v2/templates", { alias: name() }),
  "POST /templates": async () => () => post("/templates", { alias: name(), dockerfile: "FROM boxyard/base" }),
  "POST /templates/{templateID}": async () => {
    const id = await built();
    return () => post(`/templates/${id}`, { dockerfile: "FROM boxyard/base" });
  },
  "POST /templates/tags": async () => {
    const id = await built();
    return () => post("/templates/tags", { target: id, tags: ["v1"] });
  },
  "DELETE /templates/tags": async () => {
    const id = await built();
    await post("/templates/tags", { target: id, tags: ["v1"] });
    return () => s.call("DELETE", "/templates/tags", { name: id, tags: ["v1"] });
  },
  "PATCH /templates/{templateID}": async () => {
    const id = await built();
    return () => s.call("PATCH", `/templates/${id}`, { public: true });
  },
  "PATCH /v2/templates/{templateID}": async () => {
    const id = await built();
    return () => s.call("PATCH", `/v2/templates/${id}`, { public: true });
  },
  "DELETE /templates/{templateID}": async () => {
    const id = await built();
    return () => s.call("DELETE", `/templates/${id}`);
  },
  "POST /v2/templates/{templateID}/builds/{buildID}": async () => {
    const { templateID, buildID } = await build();
    return () => post(`/v2/templates/${templateID}/builds/${buildID}`, { fromImage: "e2bdev/base" });
  },
  "POST /templates/{templateID}/builds/{buildID}/cancel": async () => {
    const { templateID, buildID } = await build();
    return () => post(`/templates/${templateID}/builds/${buildID}/cancel`);
  },
  "POST /api-keys": async () => () => post("/api-keys", { name: name() }),
  "PATCH /api-keys/{apiKeyID}": async () => {
    const { id } = (await post("/api-keys", { name: name() })).body;
    return () => s.call("PATCH", `/api-keys/${id}`, { name: name() });
  },
  "DELETE /api-keys/{apiKeyID}": async () => {
    const { id } = (await post("/api-keys", { name: name() })).body;
    return () => s.call("DELETE", `/api-keys/${id}`);
  },
  "POST /access-tokens": async () => () => post("/access-tokens", { name: name() }),
  "DELETE /access-tokens/{accessTokenID}": async () => {
    const { id } = (await post("/access-tokens", { name: name() })).body;
    return () => s.call("DELETE", `/access-tokens/${id}`);
  },
  "POST /admin/teams": async () => () => post("/admin/teams", { slug: name() }),
  "PATCH /admin/teams/{team}": async () => {
    const id = await team();
    return () => s.call("PATCH", `/admin/teams/${id}`, { limits: { sandboxes: 3 } });
  },
  "DELETE /admin/teams/{team}": async () => {
    const id = await team();
    return () => s.call("DELETE", `/admin/teams/${id}`);
  },
  "POST /admin/teams/{team}/api-keys": async () => {
    const id = await team();
    return () => post(`/admin/teams/${id}/api-keys`, { name: name() });
  },
  "POST /volumes": async () => () => post("/volumes", { name: name(), sizeMB: 8 }),
  "DELETE /volumes/{volumeID}": async () => {
    const { volumeID } = await volume();
    return () => s.call("DELETE", `/volumes/${volumeID}`);
  },
  "PATCH /boxyard/volumes/{volume}": async () => {
    const { volumeID } = await volume();
    return () => s.call("PATCH", `/boxyard/volumes/${volumeID}`, { sizeMB: 16 });
  },
  "DELETE /boxyard/recordings/{recording}": async () => {
    const recording = await imported();
    return () => s.call("DELETE", `/boxyard/recordings/${recording}`);
  },
  "POST /boxyard/recordings": async () => () => post(`/boxyard/recordings?name=${name()}`, EMPTY_HAR),
  "POST /boxyard/volumes": async () => () => post(`/boxyard/volumes?name=${name()}&sizeMB=8`, EMPTY_TAR),
  "DELETE /sandboxes/{sandboxID}/ports/{port}/url": async () => {
    const id = await sandbox({ network: { allowPublicTraffic: false } });
    await s.call("GET", `/sandboxes/${id}/ports/3000/url`);
    return () => s.call("DELETE", `/sandboxes/${id}/ports/3000/url`);
  },
  "POST /admin/teams/{team}/sandboxes/kill": async () => {
    const { teamID, headers } = await s.team(name());
    await s.call("POST", "/v2/sandboxes", { templateID: "base" }, headers);
    return () => post(`/admin/teams/${teamID}/sandboxes/kill`);
  },
  "POST /admin/teams/{team}/builds/cancel": async () => {
    const { teamID, headers } = await s.team(name());
    await s.call("POST", "/v3/templates", { name: name() }, headers);
    return () => post(`/admin/teams/${teamID}/builds/cancel`);
  },
  "POST /secrets": async () => () => post("/secrets", { name: name(), value: "x" }),
  "POST /secrets/{secretID}": async () => {
    const id = await secret();
    return () => post(`/secrets/${id}`, { value: "y" });
  },
  "DELETE /secrets/{secretID}": async () => {
    const id = await secret();
    return () => s.call("DELETE", `/secrets/${id}`);
  },
  "POST /events/webhooks": async () => () =>
    post("/events/webhooks", { name: "w", url: "https://hooks.example/x", events: ["team"], enabled: false }),
  "PATCH /events/webhooks/{webhookID}": async () => {
    const id = await webhook();
    return () => s.call("PATCH", `/events/webhooks/${id}`, { name: name() });
  },
  "DELETE /events/webhooks/{webhookID}": async () => {
    const id = await webhook();
    return () => s.call("DELETE", `/events/webhooks/${id}`);
  },
  "POST /events/webhooks/{webhookID}/deliveries/resend": async () => {
    const id = await webhook();
    const { deliveries } = s.server.context.store;
    await deliveries.add([{ id: name(), webhookId: id, cursor: 1, type: "x", body: "{}" }], Date.now() + 3_600_000, 9);
    const [waiting] = await deliveries.list(id, "waiting", 1);
    await deliveries.failed(waiting?.id ?? "", "no answer", undefined);
    return () => post(`/events/webhooks/${id}/deliveries/resend`, {});
  },
};

test("every route that changes something is in a table", () => {
  const named = [...Object.keys(CALLS), ...Object.keys(UNCHANGING)];
  expect({ missing: CHANGING.filter((route) => !named.includes(route)), gone: named.filter((route) => !CHANGING.includes(route)) }).toEqual(
    {
      missing: [],
      gone: [],
    },
  );
});

test.each(Object.keys(CALLS))("%s leaves an event with its actor and the client's address", async (route) => {
  const { events } = s.server.context.store;
  const call = await (CALLS[route] as () => Promise<Prepared>)();
  const before = await events.newest();
  const reply = await call();
  expect([route, reply.status < 300 ? "" : JSON.stringify(reply.body)]).toEqual([route, ""]);
  const left = (await events.read(before, 100)).filter(({ actor }) => actor.kind === "key" && actor.address === "127.0.0.1");
  expect([route, left.length > 0]).toEqual([route, true]);
});
