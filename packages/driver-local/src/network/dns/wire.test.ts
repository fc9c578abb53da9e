import { describe, expect, test } from "bun:test";
import dnsPacket from "dns-packet";
import { FrameReader, frame } from "./exchange.ts";
import { isAnswerTo, MAX_QUERY_BYTES, makeError, makeReply, makeUpstreamQuery, parseQuery, type Query, RCODE } from "./wire.ts";

/** Checked against the independent package `dns-packet`. */

function encode(name: string, extra: object = {}): Buffer {
  return dnsPacket.encode({ type: "query", id: 7, flags: dnsPacket.RECURSION_DESIRED, questions: [{ type: "A", name }], ...extra });
}

function queryOf(bytes: Uint8Array): Query {
  const parsed = parseQuery(bytes);
  if (!parsed || !("query" in parsed)) throw new Error("not a query");
  return parsed.query;
}

function refusalOf(bytes: Uint8Array): string | undefined {
  const parsed = parseQuery(bytes);
  return parsed && "refusal" in parsed ? dnsPacket.decode(Buffer.from(parsed.refusal)).rcode : undefined;
}

const opt = (udpPayloadSize: number, flags = 0) => ({ additionals: [{ type: "OPT", name: ".", udpPayloadSize, flags, options: [] }] });

function response(name: string, answers: number, id = 7): Buffer {
  const data = "192.0.2.1";
  const records = Array.from({ length: answers }, () => ({ type: "A", name, ttl: 1, data }));
  return dnsPacket.encode({ type: "response", id, questions: [{ type: "A", name }], answers: records });
}

describe("questions", () => {
  test("are forwarded, and nothing else of the message", () => {
    const sent = encode("Some.Example.ORG", {
      additionals: [
        { type: "OPT", name: ".", udpPayloadSize: 4096, flags: 0x8000, options: [{ code: 65001, data: Buffer.from("exfil") }] },
      ],
    });
    const upstream = dnsPacket.decode(Buffer.from(makeUpstreamQuery(queryOf(sent), 999)));
    expect(upstream).toMatchObject({
      id: 999,
      type: "query",
      questions: [{ type: "A", name: "Some.Example.ORG", class: "IN" }],
      answers: [],
    });
    expect(upstream.additionals).toMatchObject([{ type: "OPT", udpPayloadSize: 1232, options: [] }]);
  });

  test("with the longest valid name are accepted, longer ones are not", () => {
    const name = Array.from({ length: 4 }, () => "x".repeat(61)).join(".");
    expect(queryOf(encode(name)).question.length).toBe(4 * 62 + 1 + 4);
    const tooLong = Array.from({ length: 5 }, () => "x".repeat(61)).join(".");
    expect(refusalOf(encode(tooLong))).toBe("FORMERR");
  });

  test("are refused with a code: pointers, several questions, answers inside, other operations, zone transfers", () => {
    const pointer = encode("a.b");
    pointer[12] = 0xc0;
    const two = encode("a.b", { questions: [1, 2].map(() => ({ type: "A", name: "a.b" })) });
    const answered = encode("a.b", { answers: [{ type: "A", name: "a.b", ttl: 1, data: "192.0.2.1" }] });
    expect([pointer, two, answered].map(refusalOf)).toEqual(["FORMERR", "FORMERR", "FORMERR"]);
    const update = encode("a.b");
    update[2] = 5 << 3;
    expect(refusalOf(update)).toBe("NOTIMP");
    expect(refusalOf(encode("a.b", { questions: [{ type: "AXFR", name: "a.b" }] }))).toBe("REFUSED");
  });

  test("get no reply when they are answers, too short or too long", () => {
    for (const bytes of [response("a.b", 1), new Uint8Array(11), new Uint8Array(MAX_QUERY_BYTES + 1)])
      expect(parseQuery(bytes)).toBeUndefined();
  });

  test("of arbitrary bytes never throw, and the upstream query always has one well-formed question", () => {
    let state = 99;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const seeds = [encode("www.example.org", opt(1400)), encode("."), encode("a.very.long.chain.of.labels.example")];
    for (let round = 0; round < 60_000; round++) {
      const bytes = Uint8Array.from(seeds[random(seeds.length)] ?? []);
      for (let i = random(8); i >= 0; i--) bytes[random(bytes.length)] = random(256);
      const parsed = parseQuery(bytes.subarray(0, random(4) === 0 ? random(bytes.length) : bytes.length));
      if (!parsed || !("query" in parsed)) continue;
      const upstream = makeUpstreamQuery(parsed.query, 1);
      expect(dnsPacket.decode(Buffer.from(upstream)).questions).toHaveLength(1);
      const again = parseQuery(upstream);
      expect(again && "query" in again && again.query.question).toEqual(parsed.query.question);
    }
  });
});

describe("answers", () => {
  const { question } = queryOf(encode("Some.Example"));

  test("are recognised by id and question, in upper or lower case", () => {
    expect(isAnswerTo(response("Some.Example", 1), 7, question)).toBe(true);
    expect(isAnswerTo(response("some.eXample", 1), 7, question)).toBe(true);
    expect(isAnswerTo(response("Some.Example", 1, 8), 7, question)).toBe(false);
    expect(isAnswerTo(response("other.example", 1), 7, question)).toBe(false);
    expect(isAnswerTo(encode("Some.Example"), 7, question)).toBe(false);
    expect(isAnswerTo(new Uint8Array(5), 7, question)).toBe(false);
  });

  test("that are too long for the client are truncated to the question, over UDP only", () => {
    const long = response("Some.Example", 100, 1234);
    for (const [query, fits] of [
      [queryOf(encode("Some.Example")), false],
      [queryOf(encode("Some.Example", opt(65000))), false],
    ] as const) {
      const reply = dnsPacket.decode(Buffer.from(makeReply(query, long, true)));
      expect(reply).toMatchObject({ id: 7, flag_tc: !fits, answers: [], questions: [{ name: "Some.Example" }] });
    }
    const whole = dnsPacket.decode(Buffer.from(makeReply(queryOf(encode("Some.Example")), long, false)));
    expect([whole.id, whole.flag_tc, whole.answers?.length]).toEqual([7, false, 100]);
  });

  test("that have only a response code repeat the question", () => {
    const reply = dnsPacket.decode(Buffer.from(makeError(queryOf(encode("a.b")), RCODE.SERVFAIL)));
    expect(reply).toMatchObject({ id: 7, type: "response", rcode: "SERVFAIL", questions: [{ name: "a.b" }], answers: [] });
  });
});

describe("a stream of messages", () => {
  test("is split into the same messages, however it arrives", () => {
    const messages = [1, 200, 0, 37].map((length) => new Uint8Array(length).fill(length));
    const stream = Buffer.concat(messages.map(frame));
    for (const step of [1, 2, 3, 7, 1000]) {
      const reader = new FrameReader(200);
      const got: Uint8Array[] = [];
      for (let at = 0; at < stream.length; at += step) got.push(...reader.push(stream.subarray(at, at + step)));
      expect(got.map((message) => message.length)).toEqual([1, 200, 0, 37]);
      expect(reader.overflowed).toBe(false);
    }
  });

  test("ends where a message announces a length above the limit", () => {
    const reader = new FrameReader(10);
    expect(reader.push(Buffer.concat([frame(new Uint8Array(3)), frame(new Uint8Array(11)), frame(new Uint8Array(3))]))).toHaveLength(1);
    expect([reader.overflowed, reader.push(frame(new Uint8Array(3))).length]).toEqual([true, 0]);
  });
});
