import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { FRAME, FRAME_HEAD_BYTES, frameOf } from "./frames.ts";
import {
  BodyWriter,
  FIRST_LINE,
  freeForOthers,
  type ReadResult,
  type Recorded,
  type RecordedExchange,
  RecordingWriter,
  readBody,
  readExchange,
  readRecording,
  type StopReason,
  type WriterLimits,
} from "./index.ts";

let directory: string;
let count = 0;
const files: FileHandle[] = [];
const LIMITS = { maxBytes: 64 << 20, maxExchanges: 1000 };

beforeAll(() => {
  directory = mkdtempSync(`${tmpdir()}/boxyard-recordings-`);
});
afterAll(async () => {
  for (const file of files) await file.close();
  rmSync(directory, { recursive: true });
});

async function newFile(content: Uint8Array = new Uint8Array(0)): Promise<FileHandle> {
  const file = await open(`${directory}/${++count}`, "w+");
  files.push(file);
  if (content.byteLength > 0) await file.write(content, 0, content.byteLength, 0);
  return file;
}

function writerOf(file: FileHandle, limits: Partial<WriterLimits> = {}, state = { end: 0, exchanges: 0 }) {
  const stops: StopReason[] = [];
  const writer = new RecordingWriter(file, { ...LIMITS, ...limits, ...state }, (reason) => stops.push(reason));
  return { writer, stops };
}

function put(writer: RecordingWriter, url: string, content: Uint8Array): RecordedExchange | undefined {
  const body = new BodyWriter(writer);
  body.push(content);
  const answer = body.end();
  if (!answer) return undefined;
  const nothing = { bytes: 0, pieces: [] };
  const head = { at: 1, tookMs: 2, method: "GET", url, fields: [["Accept", "*/*"]] as const, body: nothing, digest: "" };
  const exchange = { ...head, status: 200, reason: "OK", answerFields: [["X-E", "\u00fc"]] as const, answer };
  writer.exchange(exchange);
  return exchange;
}

/** Everything that is whole, with the bodies, and where it ends. */
async function readAll(file: FileHandle): Promise<{ found: Recorded[]; bodies: Buffer[] } & ReadResult> {
  const found: Recorded[] = [];
  const bodies: Buffer[] = [];
  const reading = readRecording(file);
  for (;;) {
    const { done, value } = await reading.next();
    if (done) return { found, bodies, ...value };
    found.push(value);
    if (value.kind !== "exchange") continue;
    const pieces: Buffer[] = [];
    try {
      for await (const piece of readBody(file, value.exchange.answer)) pieces.push(piece);
      bodies.push(Buffer.concat(pieces));
    } catch {
      bodies.push(Buffer.from("damaged"));
    }
  }
}

const noise = (bytes: number, seed = 7) => {
  const random = randomOf(seed);
  return Buffer.from(Array.from({ length: bytes }, () => random(256)));
};

/** The same numbers in each run (xorshift). */
function randomOf(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test("what was written is read again, bodies of many pieces too", async () => {
  const file = await newFile();
  const { writer, stops } = writerOf(file);
  const large = noise(700_000);
  const exchanges = [
    put(writer, "https://a.example/1", large),
    put(writer, "http://b.example/", Buffer.from("small")),
    put(writer, "http://b.example/none", Buffer.alloc(0)),
  ];
  await writer.flush();
  const { found, bodies, end } = await readAll(file);
  expect(found.map((one) => (one.kind === "exchange" ? one.exchange : one))).toEqual(exchanges as never);
  expect(bodies.map((body) => Bun.hash(body))).toEqual([large, Buffer.from("small"), Buffer.alloc(0)].map((body) => Bun.hash(body)));
  expect([end, stops]).toEqual([(await file.stat()).size, []]);
  const [first] = found;
  if (first?.kind !== "exchange") throw new Error("no exchange");
  expect(await readExchange(file, first.at, first.length)).toEqual(exchanges[0] as never);
  expect(await readExchange(file, first.at + 1, first.length)).toBeUndefined();
});

test("the next writer goes on behind the last whole frame", async () => {
  const file = await newFile();
  const { writer } = writerOf(file);
  put(writer, "http://a.example/1", noise(1000));
  put(writer, "http://a.example/2", noise(1000));
  await writer.flush();
  const { size } = await file.stat();
  await file.truncate(size - 3);
  const torn = await readAll(file);
  expect([torn.found.length, torn.end < size - 3]).toEqual([1, true]);
  await file.truncate(torn.end);
  const next = writerOf(file, {}, { end: torn.end, exchanges: 1 });
  put(next.writer, "http://a.example/3", noise(1000));
  await next.writer.flush();
  const urls = (await readAll(file)).found.map((one) => (one.kind === "exchange" ? one.exchange.url : one.reason));
  expect(urls).toEqual(["http://a.example/1", "http://a.example/3"]);
});

test("a limit stops the recording, says so in the file, and keeps what is there", async () => {
  for (const [limits, reason] of [
    [{ maxBytes: 2000 }, "size"],
    [{ maxExchanges: 1 }, "count"],
  ] as const) {
    const file = await newFile();
    const { writer, stops } = writerOf(file, limits);
    for (let i = 0; i < 5; i++) put(writer, `http://a.example/${i}`, noise(800));
    await writer.flush();
    const { found } = await readAll(file);
    expect(found.map((one) => (one.kind === "exchange" ? one.exchange.url : one.reason))).toEqual(["http://a.example/0", reason]);
    expect([stops, writer.stopped, (await file.stat()).size < 2000]).toEqual([[reason], reason, true]);
  }
});

test("a disk that refuses stops the recording; the file ends with a whole frame", async () => {
  const real = await newFile();
  let left = 3000;
  const file = {
    write(bytes: Buffer, from: number, length: number, at: number) {
      if (left <= 0) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      const taken = Math.min(left, length);
      left -= taken;
      return real.write(bytes, from, taken, at);
    },
    truncate: (to: number) => real.truncate(to),
  } as unknown as FileHandle;
  const { writer, stops } = writerOf(file);
  put(writer, "http://a.example/1", noise(1000));
  await writer.flush();
  put(writer, "http://a.example/2", noise(5000));
  await writer.flush();
  expect([stops, writer.stopped, put(writer, "http://a.example/3", noise(10))]).toEqual([["disk"], "disk", undefined]);
  const { found, end } = await readAll(real);
  expect([found.length, end]).toEqual([1, (await real.stat()).size]);
});

test("a source is told to pause while much waits, and when it may go on", async () => {
  const file = await newFile();
  const { writer } = writerOf(file);
  const piece = noise(128 << 10);
  for (let i = 0; i < 40; i++) writer.data(piece);
  expect(writer.isBehind).toBe(true);
  await new Promise<void>((resolve) => writer.onDrain(resolve));
  expect(writer.isBehind).toBe(false);
});

test("damaged files are read up to the damage: no reader fails, goes on for ever or takes much memory", async () => {
  const whole = await newFile();
  const { writer } = writerOf(whole);
  for (let i = 0; i < 6; i++) put(writer, `http://a.example/${i}`, noise(300 + i));
  await writer.flush();
  const good = Buffer.alloc((await whole.stat()).size);
  await whole.read(good, 0, good.byteLength, 0);
  const random = randomOf(30);
  const file = await newFile();
  const seen = new Set<number>();
  for (let round = 0; round < 1500; round++) {
    let bytes = Buffer.from(good);
    switch (random(4)) {
      case 0:
        bytes = bytes.subarray(0, random(bytes.byteLength));
        break;
      case 1:
        for (let i = 0; i <= random(4); i++) bytes[random(bytes.byteLength)] = random(256);
        break;
      case 2: {
        const from = random(bytes.byteLength);
        bytes = Buffer.concat([bytes.subarray(0, from), noise(random(50), round + 1), bytes.subarray(from)]);
        break;
      }
      case 3:
        bytes.writeUInt32LE(
          random(2) ? 0xffffffff : random(1 << 21),
          FIRST_LINE.byteLength + random(bytes.byteLength - FIRST_LINE.byteLength - 4),
        );
    }
    await file.truncate(0);
    if (bytes.byteLength > 0) await file.write(bytes, 0, bytes.byteLength, 0);
    const { found, bodies, end } = await readAll(file);
    seen.add(found.length);
    expect(end).toBeLessThanOrEqual(bytes.byteLength);
    // What is given is as it was written, or its body is known to be damaged.
    for (const [i, one] of found.entries()) {
      if (one.kind !== "exchange") throw new Error("nothing was stopped");
      const number = Number(one.exchange.url.split("/").at(-1));
      const body = bodies[i] as Buffer;
      expect(body.toString() === "damaged" || body.equals(noise(300 + number))).toBe(true);
    }
  }
  expect(seen.size).toBeGreaterThan(4);
}, 60_000);

test("frames with right checksums and wrong content are left out, and are never written", async () => {
  const nothing = { bytes: 0, pieces: [] };
  const right = {
    ...{ at: 1, tookMs: 1, method: "GET", url: "http://a.example/", fields: [], body: nothing, digest: "" },
    ...{ status: 200, reason: "OK", answerFields: [], answer: nothing },
  };
  const wrong: object[] = [
    { method: "GE T" },
    { url: "file:///etc/passwd" },
    { url: "http://a.example/ x" },
    { fields: [["a", "b\r\nc: d"]] },
    { fields: [["a b", "c"]] },
    { answerFields: "x" },
    { status: 101 },
    { status: "200" },
    { reason: "OK\r\nX: y" },
    { digest: "zz" },
    { answer: { bytes: 5, pieces: [[1e9, 5]] } },
    { answer: { bytes: 5, pieces: [[20, 4]] } },
    {
      answer: {
        bytes: 8,
        pieces: [
          [40, 4],
          [20, 4],
        ],
      },
    },
    { at: -1 },
  ];
  for (const change of wrong) {
    const frames = [{ ...right, ...change }, right].map((one) => frameOf(FRAME.exchange, Buffer.from(JSON.stringify(one))));
    const file = await newFile(Buffer.concat([FIRST_LINE, ...frames]));
    const { found, end } = await readAll(file);
    expect([change, found.map((one) => one.kind === "exchange" && one.exchange), end]).toEqual([
      change,
      [right],
      (await file.stat()).size,
    ] as never);
    const { writer, stops } = writerOf(await newFile());
    expect([change, writer.exchange({ ...right, ...change } as RecordedExchange), stops]).toEqual([change, false, []]);
  }
});

test("an exchange with the longest head that the proxy passes on costs no other exchange", async () => {
  const file = await newFile();
  const { writer, stops } = writerOf(file);
  put(writer, "http://a.example/1", noise(100));
  const nothing = { bytes: 0, pieces: [] };
  const head = { at: 1, tookMs: 1, method: "GET", url: "http://a.example/2", body: nothing, digest: "", status: 200, reason: "" };
  const long = { ...head, fields: [["x".repeat(60_000), "1"]], answerFields: [], answer: nothing } as const;
  expect(writer.exchange(long)).toBe(false);
  put(writer, "http://a.example/3", noise(100));
  await writer.flush();
  const urls = (await readAll(file)).found.map((one) => (one.kind === "exchange" ? one.exchange.url : one.reason));
  expect([urls, stops]).toEqual([["http://a.example/1", "http://a.example/3"], []]);
});

test("a frame that is damaged in the middle costs no other one, and the next writer cuts nothing whole off", async () => {
  const file = await newFile();
  const { writer } = writerOf(file);
  const places: number[] = [];
  for (let i = 0; i < 3; i++) {
    put(writer, `http://a.example/${i}`, Buffer.alloc(0));
    await writer.flush();
    places.push((await file.stat()).size);
  }
  await file.write(Buffer.from("x"), 0, 1, (places[1] as number) - 5);
  const { found, end } = await readAll(file);
  expect(found.map((one) => one.kind === "exchange" && one.exchange.url)).toEqual(["http://a.example/0", "http://a.example/2"]);
  expect(end).toBe(places[2] as number);
});

test("a writer that is closed writes what it has, takes no more, and has nothing to report", async () => {
  const file = await newFile();
  const { writer, stops } = writerOf(file);
  put(writer, "http://a.example/1", noise(1000));
  const going = new BodyWriter(writer);
  going.push(noise(500_000));
  await writer.close();
  const { size } = await file.stat();
  going.push(noise(500_000));
  expect([going.end(), put(writer, "http://a.example/2", noise(10)), writer.takes]).toEqual([undefined, undefined, false]);
  await writer.flush();
  expect([(await readAll(file)).found.length, (await file.stat()).size, stops]).toEqual([1, size, []]);
});

test("a body that comes byte by byte takes no buffer for each", async () => {
  const file = await newFile();
  const { writer } = writerOf(file);
  const content = noise(100_000);
  const body = new BodyWriter(writer);
  for (const byte of content) body.push(Buffer.from([byte]));
  expect(body.end()).toEqual({ bytes: 100_000, pieces: [[FIRST_LINE.byteLength, 100_000]] });
  await writer.flush();
  const written = Buffer.alloc(100_000);
  await file.read(written, 0, 100_000, FIRST_LINE.byteLength + FRAME_HEAD_BYTES);
  expect(written.equals(content)).toBe(true);
});

test("a disk whose rest is for others takes nothing more, and what was written stays whole", async () => {
  const file = await newFile();
  let left = 300_000;
  const hasRoom = async (bytes: number) => {
    left -= bytes;
    return left >= 0;
  };
  const { writer, stops } = writerOf(file, { hasRoom });
  put(writer, "https://a.example/1", Buffer.alloc(200_000, 1));
  await writer.flush();
  put(writer, "https://a.example/2", Buffer.alloc(200_000, 2));
  await writer.flush();
  expect([stops, writer.takes]).toEqual([["disk"], false]);
  const { found, bodies } = await readAll(file);
  expect([found.length, bodies[0]?.equals(Buffer.alloc(200_000, 1))]).toEqual([1, true]);
});

test("recordings leave more of a disk than sandboxes do, and half of a small one", () => {
  const gib = 2 ** 30;
  expect([250 * gib, 10 * gib, gib, 1000 * gib].map((bytes) => freeForOthers(bytes) / gib)).toEqual([7.5, 0.75, 0.5, 12]);
  expect(freeForOthers(250 * gib, 2 * gib)).toBe(3 * gib);
});
