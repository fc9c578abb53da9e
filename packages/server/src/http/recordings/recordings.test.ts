import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { BodyWriter, RecordingWriter } from "@boxyard/driver/recordings";
import { eventually } from "@boxyard/testkit";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
beforeEach(async () => {
  place = new Place();
  s = await place.boot({ env: { BOXYARD_RECORDING_MB: "1" } });
});
afterEach(() => place[Symbol.asyncDispose]());

const create = (network: object, headers = {}) => s.call("POST", "/v2/sandboxes", { templateID: "base", network }, headers);
const recorded = async (network: object) => (await create(network)).body.sandboxID as string;
const useOf = (id: string) => place.world.sandboxes.get(id)?.network?.recording;
const list = async (headers = {}) => (await s.call("GET", "/boxyard/recordings", undefined, headers)).body;
const harOf = (name: string, headers: Record<string, string> = { "X-API-Key": s.apiKey }) =>
  fetch(`${s.url}/boxyard/recordings/${name}/har`, { headers });
const directory = () => `${s.config.dataDir}/recordings`;

/** Does what the egress proxy does: keeps an exchange. */
async function keep(id: string, url: string, answer: Uint8Array, head: object = {}, request?: Uint8Array): Promise<void> {
  const file = await open(`${directory()}/${id}/frames`, "r+");
  const { size } = await file.stat();
  const writer = new RecordingWriter(file, { end: size, exchanges: 0, maxBytes: 1 << 20, maxExchanges: 100 }, () => {});
  const sent = new BodyWriter(writer);
  if (request) sent.push(request);
  const nothing = { bytes: 0, pieces: [] };
  const asked = sent.end() ?? nothing;
  const body = new BodyWriter(writer);
  body.push(answer);
  writer.exchange({
    ...{ at: 1_700_000_000_000, tookMs: 7, method: "GET", url, fields: [["Accept", "*/*"]], body: asked, digest: "" },
    ...{ status: 200, reason: "OK", answerFields: [["Content-Type", "text/plain"]], ...head },
    answer: body.end() ?? nothing,
  });
  await writer.flush();
  await file.close();
}

test("a sandbox that is to be recorded makes its recording, others find it, and all of them can replay it", async () => {
  const first = await recorded({ record: "run" });
  const use = useOf(first);
  expect(use).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/), mode: "record", maxBytes: 1 << 20, maxExchanges: 10_000 });
  expect(useOf(await recorded({ record: "run" }))).toEqual(use);
  const second = await recorded({ replay: "run", onMiss: "pass" });
  expect(useOf(second)).toEqual({ ...use, mode: "replay", passes: true } as never);
  expect(useOf(await recorded({ replay: "run" }))).not.toHaveProperty("passes");
  const shown = await Promise.all([first, second].map(async (id) => (await s.call("GET", `/sandboxes/${id}`)).body.network));
  expect(shown).toMatchObject([{ record: "run" }, { replay: "run", onMiss: "pass" }]);
  const stats = [directory(), `${directory()}/${use?.id}`, `${directory()}/${use?.id}/frames`].map((path) => statSync(path));
  expect(stats.map(({ mode, uid }) => [(mode & 0o777).toString(8), uid])).toEqual([
    ["711", 0],
    ["711", 0],
    ["600", 65_534],
  ]);
});

test("what cannot go together, and what is not there, is refused by its name", async () => {
  for (const [network, message] of [
    [{ record: "a", replay: "b" }, "network.replay: cannot go with network.record: a recording is kept, or it answers"],
    [{ onMiss: "pass" }, "network.onMiss: needs network.replay"],
    [{ replay: "none" }, "network.replay: there is no recording 'none'"],
    [{ record: "a/b" }, "network.record: must be of letters, digits, '-' and '_', 128 at most"],
  ] as const) {
    const { status, body } = await create(network);
    expect([network, status, body.message]).toEqual([network, 400, expect.stringContaining(message)]);
  }
  expect(await list()).toEqual([]);
});

test("an update begins and ends it, and a pause and a fork go on with it", async () => {
  const id = await recorded({});
  expect((await s.call("PUT", `/sandboxes/${id}/network`, { record: "run" })).status).toBe(204);
  const use = useOf(id);
  expect(use?.mode).toBe("record");
  await s.call("POST", `/sandboxes/${id}/pause`, {});
  expect((await s.call("DELETE", "/boxyard/recordings/run")).status).toBe(409);
  await s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 });
  expect(useOf(id)).toEqual(use);
  const [copy] = (await s.call("POST", `/sandboxes/${id}/fork`, {})).body;
  expect(useOf(copy.sandbox.sandboxID)).toEqual(use);
  await s.stop();
  s = await place.boot();
  expect(useOf(id)).toMatchObject({ id: use?.id as string, mode: "record" });
  for (const one of [id, copy.sandbox.sandboxID]) expect((await s.call("PUT", `/sandboxes/${one}/network`, {})).status).toBe(204);
  expect(useOf(id)).toBeUndefined();
  expect((await s.call("DELETE", "/boxyard/recordings/run")).status).toBe(204);
});

test("it is listed, shown and deleted, but not while a sandbox uses it", async () => {
  const id = await recorded({ record: "run" });
  await keep(useOf(id)?.id as string, "https://a.example/1", Buffer.from("one"));
  await keep(useOf(id)?.id as string, "https://a.example/2", Buffer.from("second"));
  const date = expect.stringMatching(/^\d{4}-.*Z$/);
  const look = { name: "run", createdAt: date, changedAt: date, sizeBytes: expect.any(Number) };
  expect(await list()).toEqual([look]);
  const exchange = { timestamp: date, method: "GET", status: 200, durationMs: 7 };
  expect((await s.call("GET", "/boxyard/recordings/run?limit=1")).body).toEqual({
    ...look,
    count: 2,
    exchanges: [{ ...exchange, url: "https://a.example/2", sizeBytes: 6 }],
  });
  const refused = await s.call("DELETE", "/boxyard/recordings/run");
  expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining(id)]);
  await s.call("DELETE", `/sandboxes/${id}`);
  expect((await s.call("DELETE", "/boxyard/recordings/run")).status).toBe(204);
  expect([(await s.call("DELETE", "/boxyard/recordings/run")).status, await list(), readdirSync(directory())]).toEqual([404, [], []]);
});

test("two teams have recordings of one name, and neither sees the other's", async () => {
  const other = (await s.team("other")).headers;
  const mine = await recorded({ record: "run" });
  const theirs = (await create({ record: "run" }, other)).body.sandboxID;
  expect(useOf(mine)?.id).not.toBe(useOf(theirs)?.id as string);
  await keep(useOf(mine)?.id as string, "https://secret.example/", Buffer.from("x"));
  const shown = [
    await list(other),
    (await s.call("GET", "/boxyard/recordings/run", undefined, other)).body,
    await (await harOf("run", other)).text(),
  ];
  expect([JSON.stringify(shown).includes("secret.example"), (await list(other)).length]).toEqual([false, 1]);
  await s.call("POST", "/boxyard/recordings?name=alone", { log: { entries: [] } });
  for (const [method, path] of [
    ["GET", "/boxyard/recordings/alone"],
    ["GET", "/boxyard/recordings/alone/har"],
    ["DELETE", "/boxyard/recordings/alone"],
  ] as const)
    expect((await s.call(method, path, undefined, other)).status).toBe(404);
  expect((await create({ replay: "alone" }, other)).status).toBe(400);
});

const send = (name: string, body: BodyInit) =>
  fetch(`${s.url}/boxyard/recordings?name=${name}`, { method: "POST", headers: { "X-API-Key": s.apiKey }, body });

test("an archive of it is one that programs read, and becomes the same recording again", async () => {
  const id = await recorded({ record: "run" });
  const bytes = crypto.getRandomValues(new Uint8Array(300_001));
  await keep(useOf(id)?.id as string, "https://a.example/a?b=c&d=%20e", bytes, { answerFields: [["Content-Encoding", "br"]] });
  await keep(useOf(id)?.id as string, "http://a.example/empty", new Uint8Array(0), { status: 302, answerFields: [["Location", "/x"]] });
  const har = await (await harOf("run")).text();
  const { log } = JSON.parse(har);
  expect([log.version, log.creator.name, log.entries.length, log.entries[1].response.redirectURL]).toEqual(["1.2", "boxyard", 2, "/x"]);
  expect(log.entries[0].request.queryString).toEqual([
    { name: "b", value: "c" },
    { name: "d", value: " e" },
  ]);
  expect(Buffer.from(log.entries[0].response.content.text, "base64").equals(Buffer.from(bytes))).toBe(true);
  const imported = await send("copy", har);
  expect([imported.status, await imported.json()]).toEqual([201, expect.objectContaining({ name: "copy", count: 2, skipped: 0 })]);
  expect(await (await harOf("copy")).text()).toBe(har);
  expect((await send("copy", har)).status).toBe(409);
});

test("an archive has the whole body of a request, and an exchange whose Host is no name spoils none", async () => {
  const id = useOf(await recorded({ record: "run" }))?.id as string;
  const sent = crypto.getRandomValues(new Uint8Array(200_000));
  const digest = new Bun.CryptoHasher("sha256").update(sent).digest("hex");
  await keep(id, "https://a.example/", Buffer.from("one"), { method: "POST", digest }, sent);
  for (const url of ["http://%zz/", "http:///"]) await keep(id, url, Buffer.from("two"));
  const har = await (await harOf("run")).text();
  const { entries } = JSON.parse(har).log;
  expect(entries.map(({ request }: { request: { url: string } }) => request.url)).toEqual([
    "https://a.example/",
    "http://%zz/",
    "http:///",
  ]);
  expect(Buffer.from(entries[0].request.postData.text, "base64").equals(Buffer.from(sent))).toBe(true);
  expect(await (await send("copy", har)).json()).toMatchObject({ count: 1, skipped: 2 });
  const copy = JSON.parse(await (await harOf("copy")).text()).log.entries;
  expect(copy).toEqual([entries[0]]);
});

test("an import takes no exchange that nobody could read again, and counts it", async () => {
  const { request } = entry({});
  const long = { ...request, url: `https://b.example/${"x".repeat(200_000)}` };
  const answer = await send(
    "long",
    JSON.stringify({ log: { entries: [entry({ text: "a" }), entry({}, { request: long }), entry({ text: "b" })] } }),
  );
  expect(await answer.json()).toMatchObject({ count: 2, skipped: 1 });
  expect((await s.call("GET", "/boxyard/recordings/long")).body).toMatchObject({ count: 2 });
});

test("an archive that is not one, or too large, makes nothing", async () => {
  const large = JSON.stringify({ log: { entries: [entry({ text: "x".repeat(1_100_000) })] } });
  for (const [body, status, reason] of [
    ["{}", 400, "bad_har"],
    ["nothing", 400, "bad_har"],
    ['{"log":{"entries":[{"a":', 400, "bad_har"],
    [large, 413, undefined],
    ["x".repeat(3 << 20), 413, undefined],
  ] as const) {
    const answer = await send("bad", body);
    expect([body.slice(0, 20), answer.status]).toEqual([body.slice(0, 20), status]);
    if (reason) expect(((await answer.json()) as { message: string }).message).toContain("This is no HTTP archive (HAR)");
  }
  expect([await list(), existsSync(directory()) ? readdirSync(directory()) : []]).toEqual([[], []]);
});

const entry = (content: object, more: object = {}) => ({
  startedDateTime: "2026-01-01T00:00:00.000Z",
  time: 3,
  request: { method: "GET", url: "https://b.example:443/p#fragment", headers: [{ name: ":authority", value: "b.example" }] },
  response: { status: 200, statusText: "OK", headers: [{ name: "content-encoding", value: "gzip" }], content },
  ...more,
});

test("of an archive of a browser, contents lose the coding that they do not have, and what is no exchange is left out", async () => {
  const entries = [
    entry({ text: "plain" }),
    entry({}, { response: { status: 0 } }),
    entry({}, { request: { method: "GET", url: "wss://b.example/" } }),
  ];
  const answer = await send("browser", JSON.stringify({ log: { pages: [{ id: "entries" }], entries } }));
  expect([answer.status, await answer.json()]).toEqual([201, expect.objectContaining({ count: 1, skipped: 2 })]);
  const { log } = JSON.parse(await (await harOf("browser")).text());
  expect([log.entries[0].request.url, log.entries[0].request.headers, log.entries[0].response.headers]).toEqual([
    "https://b.example/p",
    [],
    [],
  ]);
});

test("a recording that lacks something says so, in replays too, over a restart", async () => {
  const id = await recorded({ record: "run" });
  place.world.stoppedRecordings.set(useOf(id)?.id as string, "size");
  await eventually("it is noted", async () => (await list())[0].incomplete === "size");
  await s.stop();
  s = await place.boot();
  expect((await list())[0].incomplete).toBe("size");
  expect(useOf(await recorded({ replay: "run" }))).toMatchObject({ isIncomplete: true });
  const actions = (await s.server.context.store.events.read(0, 1000)).map(({ action }) => action);
  expect(actions).toContain("recording.incomplete");
});

test("a miss is in the record of the sandbox's network, with its request", async () => {
  const id = await recorded({ record: "run" });
  const request = "GET https://a.example/never";
  place.world.attempts.push({
    ...{ sandboxId: id as never, at: 1, protocol: "http", isAllowed: false },
    rule: "incompleteReplay",
    name: "a.example",
    request,
  });
  const { entries } = (await s.call("GET", `/sandboxes/${id}/network/log?search=never`)).body;
  expect(entries).toEqual([
    expect.objectContaining({ request, verdict: "denied", rule: "no answer to it is in the recording, which is incomplete" }),
  ]);
});

test("a start removes what an import has left half made, and keeps what no row knows", async () => {
  await recorded({ record: "run" });
  await s.stop();
  for (const [name, mark] of [
    ["a".repeat(32), true],
    ["b".repeat(32), false],
  ] as const) {
    mkdirSync(`${directory()}/${name}`);
    if (mark) writeFileSync(`${directory()}/${name}/importing`, "");
  }
  s = await place.boot();
  expect([existsSync(`${directory()}/${"a".repeat(32)}`), existsSync(`${directory()}/${"b".repeat(32)}`), (await list()).length]).toEqual([
    false,
    true,
    1,
  ]);
});

test("a rule of the team deletes what is too much, shows when, and leaves what a sandbox uses", async () => {
  const id = await recorded({ record: "used" });
  for (const name of ["one", "two"]) await s.call("POST", `/boxyard/recordings?name=${name}`, { log: { entries: [] } });
  const { teamID } = (await s.call("GET", "/teams")).body[0];
  const rule = { retention: { recordings: { maxCount: 0 }, warnHours: 0 } };
  expect((await s.call("PATCH", `/admin/teams/${teamID}`, rule)).status).toBeLessThan(300);
  await s.server.retention.once();
  await s.server.retention.once();
  expect((await list()).map(({ name }: { name: string }) => name)).toEqual(["used"]);
  await s.call("DELETE", `/sandboxes/${id}`);
  await s.call("PATCH", `/admin/teams/${teamID}`, { retention: { recordings: { maxAgeHours: 48 } } });
  await s.server.retention.once();
  expect((await list())[0].deleteAt).toMatch(/^\d{4}-/);
});
