import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@boxyard/core";
import dnsPacket from "dns-packet";
import type { Exchange } from "./exchange.ts";
import { parseResolvConf, ResolvConf } from "./resolv-conf.ts";
import { Resolver } from "./resolver.ts";
import { parseQuery, type Query } from "./wire.ts";

const parsed = parseQuery(dnsPacket.encode({ type: "query", id: 5, questions: [{ type: "A", name: "a.example" }] }));
const query = (parsed as { query: Query }).query;

type Behaviour = "answer" | "SERVFAIL" | "REFUSED" | "silence" | "refuse";

/** A resolver with scripted servers, and the list of its questions to them. */
function among(servers: Readonly<Record<string, Behaviour>>, tcp: "works" | "fails" = "works") {
  const clock = new FakeClock();
  const asked: string[] = [];
  const exchange = (kind: string) => async (e: Exchange) => {
    asked.push(`${kind} ${e.server} ${e.timeoutMs}`);
    const behaviour = servers[e.server];
    if (behaviour === "silence") await clock.advance(e.timeoutMs);
    if (behaviour === "silence" || behaviour === "refuse" || (kind === "tcp" && tcp === "fails")) return undefined;
    const rcode = { answer: 0, SERVFAIL: 2, REFUSED: 5 }[behaviour ?? "answer"];
    const { questions } = dnsPacket.decode(Buffer.from(e.query));
    return dnsPacket.encode({ type: "response", id: 1, flags: rcode, questions: questions ?? [] });
  };
  const resolver = new Resolver({ servers: () => Object.keys(servers), clock, exchange: { udp: exchange("udp"), tcp: exchange("tcp") } });
  const resolve = async (overUdp = true) => {
    const reply = await resolver.resolve(query, overUdp, new AbortController().signal);
    return dnsPacket.decode(Buffer.from(reply)).rcode;
  };
  return { resolve, asked, clock };
}

describe("a question", () => {
  test("goes to the first server only, when that one answers", async () => {
    const { resolve, asked } = among({ one: "answer", two: "answer" });
    expect([await resolve(), asked]).toEqual(["NOERROR", ["udp one 1500"]]);
  });

  test("goes on to the next server after an error, and the first error is the answer when all servers fail", async () => {
    const good = among({ one: "SERVFAIL", two: "answer" });
    expect([await good.resolve(), good.asked]).toEqual(["NOERROR", ["udp one 1500", "udp two 1500"]]);
    const bad = among({ one: "REFUSED", two: "SERVFAIL", three: "refuse" });
    expect([await bad.resolve(), bad.asked.length]).toEqual(["REFUSED", 3]);
  });

  test("goes to silent servers twice, but for no longer than 4.5 s in all", async () => {
    const { resolve, asked, clock } = among({ one: "silence", two: "silence" });
    expect(await resolve()).toBe("SERVFAIL");
    expect(asked).toEqual(["udp one 1500", "udp two 1500", "udp one 1500"]);
    expect(clock.now()).toBe(4500);
  });

  test("goes over TCP when it came over TCP, then over UDP when a server does not answer TCP", async () => {
    const { resolve, asked } = among({ one: "answer" }, "fails");
    expect([await resolve(false), asked]).toEqual(["NOERROR", ["tcp one 1500", "udp one 1500"]]);
  });

  test("is answered SERVFAIL when there is no server", async () => {
    expect(await among({}).resolve()).toBe("SERVFAIL");
  });
});

describe("resolv.conf", () => {
  test("names at most three servers; entries that are not addresses are ignored", () => {
    const text =
      "# x\nsearch a.b\nnameserver 10.0.0.1\n nameserver\t::1 \nnameserver bad\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver 1.1.1.1";
    expect(parseResolvConf(text)).toEqual(["10.0.0.1", "::1", "fe80::1%eth0"]);
    expect(parseResolvConf("")).toEqual([]);
  });

  test("is read again when it changes, and kept when it vanishes", () => {
    const directory = mkdtempSync(join(tmpdir(), "boxyard-resolv-"));
    try {
      const file = join(directory, "resolv.conf");
      let now = 0;
      const conf = new ResolvConf(file, () => now);
      expect(conf.current()).toEqual(["127.0.0.1"]);
      writeFileSync(file, "nameserver 192.0.2.53\n");
      expect(conf.current()).toEqual(["127.0.0.1"]);
      now += 1000;
      expect(conf.current()).toEqual(["192.0.2.53"]);
      rmSync(file);
      now += 1000;
      expect(conf.current()).toEqual(["192.0.2.53"]);
      writeFileSync(file, "# nothing\n");
      now += 1000;
      expect(conf.current()).toEqual(["127.0.0.1"]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
