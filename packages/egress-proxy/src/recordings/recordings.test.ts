import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { RecordingUse } from "@boxyard/driver";
import { BodyWriter, readRecording } from "@boxyard/driver/recordings";
import { type ClientConnection, type Exchange, parseRequestHead } from "@boxyard/http1";
import { eventually } from "@boxyard/testkit";
import { formsOf } from "../masker.ts";
import { ExchangeRecorder } from "./exchange-recorder.ts";
import { codingsOf } from "./recording-index.ts";
import { Recordings, type RecordingUser } from "./recordings.ts";
import { ReplayExchange } from "./replay-exchange.ts";

const ADDRESS = "10.208.0.16";
const LIMITS = { maxBytes: 64 << 20, maxExchanges: 1000 };
let directory: string;
let count = 0;

beforeAll(() => {
  directory = mkdtempSync(`${tmpdir()}/boxyard-proxy-recordings-`);
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A new recording; its file has this content. */
function newRecording(content = ""): RecordingUse {
  const id = `${directory}/${++count}`;
  mkdirSync(id);
  writeFileSync(`${id}/frames`, content);
  return { id, mode: "record", ...LIMITS };
}

function openRecordings() {
  const stops: string[] = [];
  const recordings = new Recordings({ onMiss() {}, onStopped: (_id, reason) => stops.push(reason) }, () => performance.now());
  return { recordings, stops };
}

/** The user of a recording at this address. */
async function userOf(recordings: Recordings, use: RecordingUse, address = ADDRESS): Promise<RecordingUser> {
  await recordings.use(address, use);
  const user = recordings.find(address);
  if (!user) throw new Error("nobody uses it");
  return user;
}

function keep({ recording }: RecordingUser, url: string, content: Uint8Array, status = 200): void {
  const { writer } = recording;
  if (!writer) throw new Error("nothing is written");
  const body = new BodyWriter(writer);
  body.push(content);
  const nothing = { bytes: 0, pieces: [] };
  const head = { at: 1, tookMs: 1, method: "GET", url, fields: [], body: nothing, digest: "" };
  writer.exchange({ ...head, status, reason: "", answerFields: [], answer: body.end() ?? nothing }, () => {});
}

async function urlsIn(use: RecordingUse): Promise<string[]> {
  const file: FileHandle = await open(`${use.id}/frames`, "r");
  const urls: string[] = [];
  for await (const one of readRecording(file)) if (one.kind === "exchange") urls.push(one.exchange.url);
  await file.close();
  return urls;
}

test("a recording that is left and used again at once loses nothing of what the first writer has accepted", async () => {
  const use = newRecording();
  const { recordings, stops } = openRecordings();
  const first = await userOf(recordings, use);
  const urls = Array.from({ length: 60 }, (_, i) => `http://a.example/${i}`);
  for (const url of urls) keep(first, url, Buffer.alloc(200_000, 7));
  // Nobody waits for it: the rules of a sandbox that has ended are taken away, and the next one comes.
  const left = recordings.use(ADDRESS, undefined);
  const second = await userOf(recordings, use, "10.208.0.17");
  keep(second, "http://a.example/last", Buffer.from("last"));
  await left;
  await recordings.close();
  expect([await urlsIn(use), stops]).toEqual([[...urls, "http://a.example/last"], []]);
});

test("sandboxes that begin to record to one recording at the same time have one writer", async () => {
  const use = newRecording();
  const { recordings, stops } = openRecordings();
  const users = await Promise.all(Array.from({ length: 5 }, (_, i) => userOf(recordings, use, `10.208.0.${20 + i}`)));
  expect(new Set(users.map(({ recording }) => recording.writer)).size).toBe(1);
  for (const [i, user] of users.entries()) keep(user, `http://a.example/${i}`, Buffer.alloc(1000));
  await recordings.close();
  expect([(await urlsIn(use)).length, stops]).toEqual([5, []]);
});

test("an exchange that goes on when its recording is left is not kept, and nothing is reported", async () => {
  const use = newRecording();
  const { recordings, stops } = openRecordings();
  const user = await userOf(recordings, use);
  keep(user, "http://a.example/1", Buffer.from("one"));
  const going = new BodyWriter(user.recording.writer as never);
  await recordings.use(ADDRESS, undefined);
  await recordings.close();
  going.push(Buffer.alloc(1 << 20));
  expect([going.end(), await urlsIn(use), stops]).toEqual([undefined, ["http://a.example/1"], []]);
});

test("a file that is no recording is left as it is, and nothing is kept", async () => {
  const content = "what another program has written here\n";
  const use = newRecording(content);
  const { recordings, stops } = openRecordings();
  const user = await userOf(recordings, use);
  expect([user.recording.writer, stops]).toEqual([undefined, ["disk"]]);
  await recordings.close();
  expect(readFileSync(`${use.id}/frames`, "utf8")).toBe(content);
});

test("an answer comes in a coding that the client takes", () => {
  for (const [asked, coding, isTaken] of [
    ["gzip, deflate, br", "br", true],
    ["gzip, deflate", "br", false],
    ["", "gzip", false],
    ["", "", true],
    ["", "identity", true],
    ["gzip;q=0, br;q=0.5", "gzip", false],
    ["gzip;q=0, br;q=0.5", "br", true],
    ["*", "zstd", true],
    ["*, zstd;q=0", "zstd", false],
    ["gzip, br", "gzip, br", true],
    ["gzip", "gzip, br", false],
    ["gzipped", "gzip", false],
  ] as const)
    expect([asked, coding, codingsOf(asked)(coding)]).toEqual([asked, coding, isTaken]);
});

/** A client's connection that keeps what it gets. */
function fakeClient() {
  const got: Buffer[] = [];
  let ends = 0;
  const client = {
    write: (bytes: Uint8Array) => got.push(Buffer.from(bytes)) > 0,
    endResponse: () => {
      ends += 1;
    },
  } as unknown as ClientConnection;
  return { client, text: () => Buffer.concat(got).toString(), hasEnded: () => ends > 0 };
}

test("no part of a head brings a secret to the disk", async () => {
  const secret = "secret-0123456789";
  const forms = formsOf([secret]);
  const use = newRecording();
  const { recordings } = openRecordings();
  const { recording } = await userOf(recordings, use);
  const request = parseRequestHead(`GET /${secret}?a HTTP/1.1\r\nHost: ${secret}.example\r\nX-${secret}: 1\r\nX-Asked: ${secret}`);
  const recorder = new ExchangeRecorder(recording, recording.writer as never, { scheme: "http", host: request.host }, request, forms);
  recorder.onAnswer(Buffer.from(`HTTP/1.1 200 ${secret}\r\nX-${secret}: 1\r\nX-Got: ${secret}\r\nContent-Length: 0\r\n\r\n`));
  recorder.onEnd();
  await recordings.close();
  const text = readFileSync(`${use.id}/frames`, "latin1");
  expect([text.includes(secret), text.includes("x-asked"), text.includes("X-Got")]).toEqual([false, true, true]);
  expect(await urlsIn(use)).toEqual(["http://[masked].example/[masked]?a"]);
});

const requestFor = (path: string, more = "") => parseRequestHead(`POST ${path} HTTP/1.1\r\nHost: a.example${more}`);
const ORIGIN = { scheme: "http", host: "a.example" } as const;

test("an answer that may have no body is sent without the one that an archive gave it", async () => {
  const use = newRecording();
  const { recordings } = openRecordings();
  const user = await userOf(recordings, use);
  const smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  for (const status of [204, 304]) keep(user, `http://a.example/${status}`, Buffer.from(smuggled), status);
  keep(user, "http://a.example/200", Buffer.from("whole"));
  await recordings.use(ADDRESS, undefined);
  const reader = await userOf(recordings, { ...use, mode: "replay" });
  for (const [path, answer] of [
    ["/204", "HTTP/1.1 204 \r\n\r\n"],
    ["/304", "HTTP/1.1 304 \r\n\r\n"],
    ["/200", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nwhole"],
  ] as const) {
    const request = parseRequestHead(`GET ${path} HTTP/1.1\r\nHost: a.example\r\nIf-None-Match: "x"`);
    const { client, text, hasEnded } = fakeClient();
    new ReplayExchange(
      { recordings, user: reader, address: ADDRESS, origin: ORIGIN, forms: [], pass: undefined },
      request,
      client,
    ).onBodyEnd();
    await eventually("it is answered", hasEnded);
    expect(text()).toBe(answer);
  }
  await recordings.close();
});

test("the bodies that wait for an answer of the recording have one share of memory for all requests of a sandbox", async () => {
  const { recordings } = openRecordings();
  const user = await userOf(recordings, { ...newRecording(), mode: "replay" });
  const over: (() => void)[] = [];
  let passed = 0;
  const exchange: Exchange = {
    onBody(bytes) {
      passed += bytes.byteLength;
    },
    onBodyEnd() {},
    onClientDrain() {},
    onClientClosed() {},
  };
  const pass = (onOver: () => void) => {
    over.push(onOver);
    return exchange;
  };
  const piece = Buffer.alloc(1 << 20);
  const requests = Array.from({ length: 12 }, (_, i) => {
    const parts = { recordings, user, address: ADDRESS, origin: ORIGIN, forms: [], pass };
    return new ReplayExchange(parts, requestFor(`/${i}`, `\r\nContent-Length: ${7 << 20}`), fakeClient().client);
  });
  for (const request of requests) for (let i = 0; i < 7; i++) request.onBody(piece);
  // Nine have their whole bodies here. The others are passed on as they come.
  expect([user.heldBytes <= 67 << 20, over.length]).toEqual([true, 3]);
  expect(passed).toBe(3 * (7 << 20));
  for (const call of over) call();
  for (const request of requests) request.onClientClosed();
  expect(user.heldBytes).toBe(0);
  await recordings.close();
});
