import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import type { Gate } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import type { MetLimitName } from "../limit-met.ts";
import { connectRaw, type RawPeer } from "../testing/raw.ts";
import { TestServer } from "../testing/test-server.ts";

/*
 * Every limit that a request can meet: 429, `Retry-After`, and name and value for people (`message`) and programs (`details`). The table has a line for each
 * name of a limit, or it does not compile. What the store holds is pretended where the limit is thousands of rows; the tests of each resource fill it.
 */

interface Way {
  readonly value: number;
  readonly reason: string;
  /** A request that meets the limit. */
  readonly meet: () => Promise<Response>;
}

let s: TestServer;
let headers: Record<string, string>;
/** To be called at the end, in reverse. */
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  s = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "3", BOXYARD_MAX_CREATES: "1", BOXYARD_MAX_QUEUED_CREATES: "1" } });
  headers = (await s.team("limited")).headers;
});
afterAll(async () => {
  for (const one of undo.reverse()) await one();
  await s[Symbol.asyncDispose]();
});

const ask = (method: string, path: string, body?: unknown, more = headers, signal?: AbortSignal) =>
  fetch(s.url + path, {
    method,
    headers: { ...more, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
const create = () => ask("POST", "/v2/sandboxes", { templateID: "base" });
const request = (name: string) => ask("POST", "/v3/templates", { name });

/** A limit that the operator sets. */
const ofTeam = (name: string, meet: () => Promise<Response>, value = 0): Way => ({
  value,
  reason: "team_limit",
  meet: async () => {
    const set = (to: number | "default") => s.call("PATCH", "/admin/teams/limited", { limits: { [name]: to } });
    await set(value);
    const answer = await meet();
    await set("default");
    return answer;
  },
});

/** The store answers `value` while `meet` asks. */
function pretending<T extends object, K extends keyof T & string>(
  store: () => T,
  method: K,
  value: unknown,
  meet: () => Promise<Response>,
) {
  return async () => {
    // biome-ignore lint/suspicious/noExplicitAny: each method has other types
    const pretence = spyOn(store() as any, method).mockImplementation(async () => value);
    try {
      return await meet();
    } finally {
      pretence.mockRestore();
    }
  };
}
const rows = (count: number, row: object = {}) => Array.from({ length: count }, () => row);
const store = () => s.server.context.store;
const teamId = async () => (await store().teams.list()).find(({ slug }) => slug === "limited")?.id;

async function meetSandboxes(): Promise<Response> {
  const made = [];
  for (let i = 0; i < 3; i++) made.push(((await (await create()).json()) as { sandboxID: string }).sandboxID);
  const answer = await create();
  for (const id of made) await ask("DELETE", `/sandboxes/${id}`);
  return answer;
}

/** One create is at work, one waits. */
async function meetQueue(): Promise<Response> {
  const gate: Gate = s.world.faults.hold("create", 2);
  const [first, second] = [create(), create()];
  await eventually("one is at work", () => gate.reached === 1);
  const third = create();
  const answer = await Promise.race([first, second, third]);
  gate.open();
  const made = (await Promise.all([first, second, third])).filter(({ status }) => status === 201);
  expect(made).toHaveLength(2);
  for (const one of made) await ask("DELETE", `/sandboxes/${((await one.json()) as { sandboxID: string }).sandboxID}`);
  return answer;
}

async function meetStreams(): Promise<Response> {
  const gone = new AbortController();
  undo.push(() => gone.abort());
  for (let i = 0; i < 20; i++) expect((await ask("GET", "/events/stream", undefined, headers, gone.signal)).status).toBe(200);
  return ask("GET", "/events/stream");
}

/** Uploads whose bodies do not come. */
async function meetUploads(): Promise<Response> {
  const { templateID } = (await (await request("uploads")).json()) as { templateID: string };
  const link = async (i: number) => {
    const hash = i.toString(16).padStart(64, "0");
    return ((await (await ask("GET", `/templates/${templateID}/files/${hash}`)).json()) as { url: string }).url;
  };
  const clients: RawPeer[] = [];
  undo.push(() => clients.map((client) => client.end()));
  for (let i = 0; i < 64; i++) {
    const { pathname, search } = new URL(await link(i));
    const client = await connectRaw(s.port);
    clients.push(client);
    client.send(`PUT ${pathname}${search} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`);
    await client.includes("100 Continue");
  }
  return fetch(await link(64), { method: "PUT", body: "x" });
}

/** A registry that does not answer until the end. */
async function meetTriggers(): Promise<Response> {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  // biome-ignore lint/suspicious/noExplicitAny: a private method
  const asked = spyOn(s.server.context.triggers as any, "ask").mockImplementation(() => promise);
  const answers = Array.from({ length: 33 }, (_, i) => ask("POST", "/boxyard/triggers", { fromImage: `registry.example/image-${i}:1` }));
  const refused = await Promise.race(answers);
  resolve([]);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  asked.mockRestore();
  expect(statuses.filter((status) => status === 200)).toHaveLength(32);
  return refused;
}

async function meetArchives(): Promise<Response> {
  await ask("POST", "/volumes", { name: "kept" });
  const { volumes } = s.server.context;
  const team = await teamId();
  if (!team) throw new Error("there is no team");
  for (let i = 0; i < 8; i++) {
    const { tar } = await volumes.export(team, "kept", new AbortController().signal);
    undo.push(() => tar.cancel());
  }
  return ask("GET", "/boxyard/volumes/kept/archive");
}

const keep = (record: string) => ask("POST", "/sandboxes", { templateID: "base", network: { record } });

async function meetRecordings(): Promise<Response> {
  const { sandboxID } = (await (await keep("kept")).json()) as { sandboxID: string };
  await ask("DELETE", `/sandboxes/${sandboxID}`);
  const { recordingArchives } = s.server.context;
  const team = await teamId();
  if (!team) throw new Error("there is no team");
  for (let i = 0; i < 8; i++) {
    const har = await recordingArchives.export(team, "kept");
    undo.push(() => har.cancel());
  }
  return ask("GET", "/boxyard/recordings/kept/har");
}

const meetRecordingLimit = () =>
  pretending(
    () => store().recordings,
    "add",
    "too_many",
    () => keep("one-more"),
  )();

async function meetBuilds(): Promise<Response> {
  const { templateID, buildID } = (await (await request("builds")).json()) as { templateID: string; buildID: string };
  return ask("POST", `/v2/templates/${templateID}/builds/${buildID}`, { fromTemplate: "base", steps: [] });
}

async function meetWaiting(): Promise<Response> {
  const { templateID, buildID } = (await (await request("waiting")).json()) as { templateID: string; buildID: string };
  const waiting = rows(500, { id: buildID, templateId: templateID, tags: [] });
  return pretending(
    () => store().templates,
    "listBuildsIn",
    waiting,
    () => request("more"),
  )();
}

const newKey = () => ask("POST", "/api-keys", { name: "more" });
const newSecret = () => ask("POST", "/secrets", { name: "more", value: "x" });
const newTeam = () => ask("POST", "/admin/teams", { slug: "more" }, { "X-API-Key": s.apiKey });
const newWebhook = () =>
  ask("POST", "/events/webhooks", { name: "more", url: "https://203.0.113.9/", events: ["sandbox.lifecycle.created"] });
const newVolume = async () => {
  const row = { id: "v", teamId: await teamId() };
  return pretending(
    () => store().volumes,
    "list",
    rows(1000, row),
    () => ask("POST", "/volumes", { name: "more" }),
  )();
};

const WAYS: Record<Exclude<MetLimitName, "timeoutHours">, Way> = {
  sandboxes: ofTeam("sandboxes", create),
  cpus: ofTeam("cpus", create, 1),
  memoryMB: ofTeam("memoryMB", create, 1),
  diskMB: ofTeam("diskMB", create, 1),
  createsPerMinute: ofTeam("createsPerMinute", create),
  templates: ofTeam("templates", () => request("more")),
  builds: ofTeam("builds", meetBuilds),
  BOXYARD_MAX_SANDBOXES: { value: 3, reason: "too_many_sandboxes", meet: meetSandboxes },
  BOXYARD_MAX_QUEUED_CREATES: { value: 1, reason: "too_many_creates", meet: meetQueue },
  waitingBuilds: { value: 500, reason: "too_many_builds", meet: meetWaiting },
  apiKeys: { value: 1000, reason: "too_many_keys", meet: pretending(() => store().keys, "list", rows(1000), newKey) },
  secrets: { value: 1000, reason: "secret_limit_reached", meet: pretending(() => store().secrets, "add", "too_many", newSecret) },
  webhooks: { value: 20, reason: "webhook_limit_reached", meet: pretending(() => store().webhooks, "add", false, newWebhook) },
  teams: { value: 10_000, reason: "too_many_teams", meet: pretending(() => store().teams, "list", rows(10_000), newTeam) },
  volumes: { value: 1000, reason: "too_many_team_volumes", meet: newVolume },
  recordingArchives: { value: 8, reason: "too_many_archives", meet: meetRecordings },
  BOXYARD_RECORDINGS: { value: 100, reason: "recording_limit_reached", meet: meetRecordingLimit },
  volumeArchives: { value: 8, reason: "too_many_archives", meet: meetArchives },
  eventStreams: { value: 20, reason: "too_many_streams", meet: meetStreams },
  triggers: { value: 32, reason: "too_many_triggers", meet: meetTriggers },
  uploads: { value: 64, reason: "too_many_uploads", meet: meetUploads },
};

for (const [limit, { value, reason, meet }] of Object.entries(WAYS)) {
  test(`the limit ${limit} is told with its name and value`, async () => {
    const answer = await meet();
    const message = expect.stringContaining(`reached its limit ${limit} (${value}): `);
    expect(await answer.json()).toEqual({ code: 429, message, error_code: reason, details: { limit, value } });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)]);
  }, 60_000);
}
