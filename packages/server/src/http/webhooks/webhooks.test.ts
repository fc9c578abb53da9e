import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { eventually } from "@boxyard/testkit";
import { Place } from "../../testing/place.ts";
import type { TestServer, TestServerOptions } from "../../testing/test-server.ts";

setDefaultTimeout(60_000);

interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

let place: Place;
let s: TestServer;
let received: Received[];
/** What the receiver answers; by its path. */
let answer: (path: string) => Response | Promise<Response>;
let receiver: Bun.Server<undefined>;
beforeEach(async () => {
  received = [];
  answer = () => new Response("");
  receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const path = new URL(request.url).pathname;
      received.push({ path, headers: request.headers, body: await request.text() });
      return answer(path);
    },
  });
  place = new Place();
  s = await boot();
});
afterEach(async () => {
  await place[Symbol.asyncDispose]();
  await receiver.stop(true);
});

const boot = (options: TestServerOptions = {}) =>
  place.boot({ env: { BOXYARD_WEBHOOK_HOSTS: `http://127.0.0.1:${receiver.port}` }, webhookBackoffMs: [20, 20], ...options });
const urlOf = (path = "/hook") => `http://127.0.0.1:${receiver.port}${path}`;
const SECRET = "a-secret-of-the-receiver";
const create = async (body: object, headers = {}) =>
  s.call("POST", "/events/webhooks", { name: "mine", url: urlOf(), events: ["*"], signatureSecret: SECRET, ...body }, headers);
const addSecret = (name: string) => s.call("POST", "/secrets", { name, value: "value-of-the-secret" });
const bodies = (path = "/hook") => received.filter((one) => one.path === path).map(({ body }) => JSON.parse(body));
const until = (what: string, look: () => boolean | Promise<boolean>) => eventually(what, look, { withinMs: 30_000 });
const lookAt = async (id: string) => (await s.call("GET", `/events/webhooks/${id}`)).body;
const deliveriesOf = async (id: string) => (await s.call("GET", `/events/webhooks/${id}/deliveries`)).body;

test("a sandbox's life is told in the contract's form, signed, and listed", async () => {
  const types = ["created", "updated", "paused", "resumed", "killed"].map((label) => `sandbox.lifecycle.${label}`);
  expect((await create({ events: types })).status).toBe(201);
  place.world.checkpoint = "memory";
  const { sandboxID, templateID } = await s.create({ metadata: { of: "mine" } });
  await s.call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 500 });
  await s.call("POST", `/sandboxes/${sandboxID}/pause`, {});
  await s.call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 60 });
  await s.call("DELETE", `/sandboxes/${sandboxID}`);
  await until("the end is told", () => bodies().some(({ event_label }) => event_label === "killed"));
  const told = bodies();
  expect([...new Set(told.map(({ type }) => type))]).toEqual(types);
  const execution = { started_at: expect.any(String), vcpu_count: 2, memory_mb: 1024, execution_time: expect.any(Number) };
  expect(told[0]).toMatchObject({
    ...{ version: "v2", type: "sandbox.lifecycle.created", event_category: "lifecycle", event_label: "created" },
    ...{ sandbox_id: sandboxID, sandbox_template_id: templateID, sandbox_team_id: s.server.firstKey.teamId },
    event_data: { sandbox_metadata: { of: "mine" } },
  });
  expect(told.at(-1)).toMatchObject({ type: "sandbox.lifecycle.killed", event_data: { execution } });
  expect(told.find(({ event_label }) => event_label === "updated").event_data.set_timeout).toMatch(/^\d{4}-/);
  const listed = async (query: string) => (await s.call("GET", `/events/sandboxes${query}`)).body;
  const ids = (events: { id: string }[]) => events.map(({ id }) => id);
  expect(ids(await listed(`/${sandboxID}?orderAsc=true&limit=100`))).toEqual(ids(told));
  expect(ids(await listed("?limit=100"))).toEqual(ids(told.toReversed()));
  expect(ids(await listed("?limit=1&offset=1&orderAsc=true"))).toEqual(ids([told[1]]));
  expect(ids(await listed("?types=sandbox.lifecycle.killed,sandbox.lifecycle.created"))).toEqual(ids([told.at(-1), told[0]]));
  expect((await s.call("GET", "/events/sandboxes?types=none")).status).toBe(400);
  expect((await s.call("GET", "/events/sandboxes/i00000000000000000000")).status).toBe(404);
  await until("nothing is left to send", async () => (await s.call("GET", "/events/webhooks")).body[0].waiting === 0);
});

test("the list of the lives of a sandbox that is older than the events that are kept is empty, and the sandbox is no other team's", async () => {
  const { sandboxID } = await s.create();
  const { store } = s.server.context;
  await store.events.prune(Date.now() + 60_000, 0);
  const { status, body } = await s.call("GET", `/events/sandboxes/${sandboxID}`);
  expect([status, body]).toEqual([200, []]);
  const { headers } = await s.team("stranger");
  expect((await s.call("GET", `/events/sandboxes/${sandboxID}`, undefined, headers)).status).toBe(404);
});

test("each delivery has the contract's signature, and one of its own that covers the time", async () => {
  await create({ events: ["secret"] });
  await addSecret("one");
  await until("it has come", () => received.length === 1);
  const [{ body, headers } = expect.unreachable()] = received;
  const plain = createHash("sha256")
    .update(SECRET + body)
    .digest("base64");
  const own = createHmac("sha256", SECRET)
    .update(`${headers.get("boxyard-timestamp")}.${body}`)
    .digest("hex");
  expect(headers.get("e2b-signature")).toBe(plain.replace("=", ""));
  expect(headers.get("boxyard-signature")).toBe(`v1=${own}`);
  expect(Math.abs(Number(headers.get("boxyard-timestamp")) - Date.now() / 1000)).toBeLessThan(600);
  expect([headers.get("e2b-signature-version"), headers.get("boxyard-event")]).toEqual(["v1", "secret.created"]);
});

test("other events come as GET /events has them, with the client's address, and each webhook gets what it asks for", async () => {
  await create({ events: ["secret", "key.created"] });
  await create({ events: ["*"], url: urlOf("/all") });
  await addSecret("one");
  await s.call("POST", "/api-keys", { name: "two" });
  await s.call("POST", "/volumes", { name: "three", sizeMB: 8 });
  await until("all has come", () => bodies("/all").some(({ action }) => action === "volume.ready"));
  await until("and there", () => bodies().length === 2);
  expect(bodies().map(({ action }) => action)).toEqual(["secret.created", "key.created"]);
  const { events } = (await s.call("GET", "/events?action=secret.created")).body;
  expect(bodies()[0]).toEqual(events[0]);
  expect(events[0].actor).toMatchObject({ kind: "key", address: "127.0.0.1" });
  expect(received.map(({ body }) => body).join()).not.toContain("value-of-the-secret");
});

test("what fails is sent again, later given up, listed, and sent again on request", async () => {
  answer = () => new Response("", { status: 500 });
  const { id } = (await create({ events: ["secret"] })).body;
  await addSecret("one");
  await until("it is given up", async () => (await lookAt(id)).dead === 1);
  expect(received.length).toBe(3);
  const [dead] = (await s.call("GET", `/events/webhooks/${id}/deliveries?state=dead`)).body;
  expect(dead).toMatchObject({ type: "secret.created", state: "dead", attempts: 3, lastAnswer: "status 500" });
  expect(new Set(received.map(({ headers }) => headers.get("e2b-delivery-id")))).toEqual(new Set([dead.id]));
  answer = () => new Response("");
  const resend = async (body?: object) => (await s.call("POST", `/events/webhooks/${id}/deliveries/resend`, body)).body;
  expect([await resend({ deliveries: ["none"] }), await resend()]).toEqual([{ resent: 0 }, { resent: 1 }]);
  await until("it has come", async () => (await lookAt(id)).waiting === 0);
  expect([(await lookAt(id)).dead, received.length]).toEqual([0, 4]);
  expect((await s.call("GET", "/events?action=webhook.resent")).body.events).toHaveLength(1);
});

test("a redirect is not followed, and a receiver that does not answer keeps nothing from others", async () => {
  const hanging = Promise.withResolvers<Response>();
  const moved = () => new Response("", { status: 302, headers: { Location: urlOf("/elsewhere") } });
  answer = (path) => (path === "/hangs" ? hanging.promise : path === "/moved" ? moved() : new Response(""));
  const { id } = (await create({ url: urlOf("/moved"), events: ["secret"] })).body;
  const { headers } = await s.team("slow");
  for (let i = 0; i < 6; i++) await create({ url: urlOf("/hangs"), events: ["secret"] }, headers);
  await create({ url: urlOf("/good"), events: ["secret"] });
  await s.call("POST", "/secrets", { name: "theirs", value: "x" }, headers);
  await until("all of the slow team's places hang", () => bodies("/hangs").length === 4);
  for (const name of ["one", "two", "three"]) await addSecret(name);
  await until("the good one has all", () => bodies("/good").length === 3);
  await until("the moved one is given up", async () => (await lookAt(id)).dead === 3);
  expect(received.some(({ path }) => path === "/elsewhere")).toBe(false);
  expect((await deliveriesOf(id))[0].lastAnswer).toBe("status 302: redirects are not followed");
  hanging.resolve(new Response(""));
});

test("a crash loses nothing: what was not taken comes after the next start", async () => {
  await place.crash(s);
  s = await boot({ webhookBackoffMs: [3_600_000] });
  answer = () => new Response("", { status: 503 });
  const { id } = (await create({ events: ["secret"] })).body;
  await addSecret("one");
  await until("it has failed once", async () => (await deliveriesOf(id))[0]?.attempts === 1);
  await addSecret("two");
  await place.crash(s);
  answer = () => new Response("");
  s = await boot();
  await until("the second one has come", () => bodies().some(({ after }) => after?.name === "two"));
  const left = await deliveriesOf(id);
  expect(left.some(({ attempts }: { attempts: number }) => attempts === 1)).toBe(true);
});

test("addresses that are not public are refused, unless the operator has listed them", async () => {
  const privateOnes = ["127.0.0.1", "localhost", "a.localhost", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:127.0.0.1]"];
  for (const url of [
    ...[...privateOnes, "2130706433", "0.0.0.0", "user:word@93.184.215.14"].map((host) => `https://${host}/x`),
    ...["http://93.184.215.14/", "ftp://93.184.215.14/", "no address", `http://127.0.0.1:${(receiver.port ?? 0) + 1}/`],
    `https://127.0.0.1:${receiver.port}/`,
  ]) {
    const { status, body } = await create({ url });
    expect([url, status, body.message]).toEqual([url, 400, expect.stringMatching(/^url: /)]);
  }
  expect((await create({ url: "https://hooks.example/x", enabled: false })).status).toBe(201);
});

test("a webhook is changed, switched off and deleted; its secret is shown once, where the server has made it", async () => {
  const made = (await create({ signatureSecret: undefined })).body;
  expect(made.signatureSecret).toMatch(/^whsec_/);
  const shown = { id: made.id, teamId: s.server.firstKey.teamId, name: "mine", createdAt: made.createdAt, enabled: true, url: urlOf() };
  expect(await lookAt(made.id)).toEqual({ ...shown, events: ["*"], waiting: 0, dead: 0 });
  await create({ events: ["secret"], url: urlOf("/all") });
  const changed = await s.call("PATCH", `/events/webhooks/${made.id}`, { enabled: false, events: ["secret"], signatureSecret: SECRET });
  expect(changed.body).toMatchObject({ ...shown, enabled: false, events: ["secret"] });
  await addSecret("one");
  await until("the other one has it", () => bodies("/all").length === 1);
  await s.call("PATCH", `/events/webhooks/${made.id}`, { enabled: true });
  await addSecret("two");
  await until("the second one has come", () => bodies().some(({ after }) => after?.name === "two"));
  expect((await s.call("DELETE", `/events/webhooks/${made.id}`)).status).toBe(200);
  await addSecret("three");
  await until("the other one has it too", () => bodies("/all").length === 3);
  for (const method of ["GET", "DELETE"]) expect((await s.call(method, `/events/webhooks/${made.id}`)).status).toBe(404);
  expect(
    bodies()
      .filter(({ action }) => action === "secret.created")
      .map(({ after }) => after.name),
  ).toEqual(["two"]);
  const log = (await s.call("GET", `/events?targetID=${made.id}`)).body.events.map(({ action }: { action: string }) => action);
  expect(log).toEqual(["webhook.created", "webhook.changed", "webhook.changed", "webhook.removed"]);
});

test("a team has a limit of webhooks, and they go with it", async () => {
  const { headers } = await s.team("many");
  for (let i = 0; i < 20; i++) expect((await create({}, headers)).status).toBe(201);
  const refused = await create({}, headers);
  expect([refused.status, refused.body.error_code]).toEqual([429, "webhook_limit_reached"]);
  expect((await s.call("DELETE", "/admin/teams/many")).status).toBe(204);
  expect(await s.server.context.store.webhooks.list()).toEqual([]);
});
