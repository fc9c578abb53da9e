import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import dnsPacket from "dns-packet";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { frame } from "./dns/exchange.ts";
import { type Lab, openLab, type StandIn } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { openNetwork } from "./open-network.ts";
import { DEFAULT_SHARES } from "./shares.ts";

/** The name server of the sandboxes, asked from inside. A test server on a loopback address plays the machine's own name server. */

const GATEWAY = "10.217.0.1";
const UPSTREAM = "127.0.0.53";

let lab: Lab;
let networks: SandboxNetworks;
let upstream: NameServer;
let online: StandIn;
let offline: StandIn;
let lease: NetworkLease;

beforeAll(async () => {
  lab = await openLab();
  upstream = await startNameServer(UPSTREAM);
  writeFileSync(`${lab.directory}/resolv.conf`, `search corp.example\nnameserver ${UPSTREAM}\n`);
  networks = await openNetwork({
    instance: "0000bbbb",
    network: "10.217.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
  });
  online = await lab.sandbox();
  lease = networks.allocate("ionline" as SandboxId, 1);
  await networks.attach(lease, online.pid, { internetAccess: true });
  offline = await lab.sandbox();
  const offlineLease = networks.allocate("ioffline" as SandboxId, 1);
  await networks.attach(offlineLease, offline.pid, { internetAccess: false });
});

afterAll(async () => {
  upstream?.stop();
  await networks?.release();
  await lab?.end();
});

beforeEach(() => upstream.reset());

interface Asked {
  readonly rcode: string;
  readonly answers: string[];
  readonly truncated: boolean;
}

function read(bytes: Uint8Array): Asked {
  const packet = dnsPacket.decode(Buffer.from(bytes));
  const answers = (packet.answers ?? []).map((answer) => String(answer.data));
  return { rcode: packet.rcode ?? "", answers, truncated: packet.flag_tc === true };
}

function question(name: string, id = 4711, udpBytes = 0): Buffer {
  return dnsPacket.encode({
    type: "query",
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ type: "A", name }],
    ...(udpBytes ? { additionals: [{ type: "OPT", name: ".", udpPayloadSize: udpBytes, flags: 0, options: [] }] } : {}),
  });
}

/** Sends datagrams from inside and collects what comes back within `waitMs`, or as soon as there are `expected`. */
async function ask(from: StandIn, messages: readonly Uint8Array[], expected = 1, waitMs = 1500): Promise<Uint8Array[]> {
  const got: Uint8Array[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  const socket = await from.inside(() =>
    Bun.udpSocket({
      connect: { hostname: GATEWAY, port: 53 },
      socket: {
        data(_socket, data) {
          got.push(new Uint8Array(data));
          if (got.length >= expected) resolve();
        },
        error() {},
      },
    }),
  );
  for (const message of messages) socket.send(message);
  await promise;
  clearTimeout(timer);
  socket.close();
  return got;
}

async function askTcp(from: StandIn, bytes: Uint8Array, expected: number, waitMs = 1500): Promise<{ messages: number; closed: boolean }> {
  let got = Buffer.alloc(0);
  let closed = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  const count = () => {
    let messages = 0;
    for (let at = 0; at + 2 <= got.length && at + 2 + got.readUInt16BE(at) <= got.length; at += 2 + got.readUInt16BE(at)) messages++;
    return messages;
  };
  const connection = await from.inside(() =>
    Bun.connect({
      hostname: GATEWAY,
      port: 53,
      socket: {
        open: (socket) => void socket.write(bytes),
        data(_socket, data) {
          got = Buffer.concat([got, data]);
          if (count() >= expected) resolve();
        },
        close() {
          closed = true;
          resolve();
        },
      },
    }),
  );
  await promise;
  clearTimeout(timer);
  const result = { messages: count(), closed };
  connection.terminate();
  return result;
}

async function resolves(from = online): Promise<boolean> {
  const [reply] = await ask(from, [question("works.example")]);
  return reply !== undefined && read(reply).answers[0] === "192.0.2.1";
}

describe("over UDP", () => {
  test("answers with the client's id, and asks upstream with another id from another port each time", async () => {
    const messages = Array.from({ length: 20 }, () => question("a.example", 4711));
    const replies = await ask(online, messages, 20);
    expect(replies.map(read)).toEqual(Array.from({ length: 20 }, () => ({ rcode: "NOERROR", answers: ["192.0.2.1"], truncated: false })));
    expect(new Set(replies.map((reply) => new DataView(reply.buffer).getUint16(0)))).toEqual(new Set([4711]));
    expect(new Set(upstream.asked.map((query) => query.port)).size).toBeGreaterThan(15);
    expect(new Set(upstream.asked.map((query) => query.id)).size).toBeGreaterThan(15);
  });

  test("truncates an answer that is too long, and gives it whole over TCP", async () => {
    const [short] = await ask(online, [question("long.example")]);
    expect(short && read(short)).toEqual({ rcode: "NOERROR", answers: [], truncated: true });
    expect(short?.length).toBeLessThanOrEqual(512);
    expect(await askTcp(online, frame(question("long.example")), 1)).toEqual({ messages: 1, closed: false });
  });

  test("asks the next server when the first one can't answer, and reads resolv.conf again", async () => {
    const second = await startNameServer("127.0.0.54");
    try {
      writeFileSync(`${lab.directory}/resolv.conf`, "nameserver 127.0.0.99\nnameserver 127.0.0.53\nnameserver 127.0.0.54\n");
      // Time alone: resolv.conf is read again once a second.
      await Bun.sleep(1100);
      upstream.fail = true;
      expect(await resolves()).toBe(true);
      expect(second.asked.length).toBe(1);
    } finally {
      second.stop();
      writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
      // Time alone: as above.
      await Bun.sleep(1100);
    }
  });

  test("ignores answers to other questions, under other ids and of other servers", async () => {
    upstream.lie = true;
    const [reply] = await ask(online, [question("liar.example")], 1, 4000);
    expect(reply && read(reply).answers).toEqual(["192.0.2.1"]);
  });

  // After which time: resolver.test.ts.
  test("answers SERVFAIL when no server answers", async () => {
    upstream.silent = true;
    const [reply] = await ask(online, [question("silent.example")], 1, 30_000);
    expect(reply && read(reply).rcode).toBe("SERVFAIL");
  }, 60_000);

  test("bounds the questions of one sandbox in flight, and still serves another", async () => {
    upstream.silent = true;
    const messages = Array.from({ length: 150 }, (_, i) => question(`n${i}.example`, i));
    const replies = await ask(online, messages, 86, 10_000);
    expect(replies.length).toBeGreaterThanOrEqual(86);
    expect(upstream.asked.length).toBeLessThanOrEqual(64);
    upstream.silent = false;
    const neighbour = await lab.sandbox();
    const other = networks.allocate("iother" as SandboxId, 1);
    await networks.attach(other, neighbour.pid, { internetAccess: true });
    expect(await resolves(neighbour)).toBe(true);
    await neighbour.end();
    await networks.detach(other);
    await eventually("the unanswered questions have timed out", () => resolves());
  }, 60_000);

  test("answers one sandbox at most a few hundred times a second", async () => {
    const many = Array.from({ length: 3000 }, (_, i) => question("many.example", i));
    const startedAt = performance.now();
    const replies = await ask(online, many, many.length, 1000);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(replies.length).toBeGreaterThan(100);
    expect(replies.length).toBeLessThanOrEqual((2 + seconds) * DEFAULT_SHARES.questions);
    await eventually("its share is free again", () => resolves());
  });
});

describe("hostile questions", () => {
  test("never end the name server, and are never forwarded unchanged", async () => {
    const good = question("seed.example", 1, 1232);
    let state = 12345;
    const random = (below: number) => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const mutations = Array.from({ length: 750 }, (_, round) => {
      if (round % 3 === 0) return crypto.getRandomValues(new Uint8Array(random(600)));
      const bytes = Uint8Array.from(good);
      for (let i = 0; i <= random(6); i++) bytes[random(bytes.length)] = random(256);
      return bytes.subarray(0, round % 3 === 1 ? bytes.length : random(bytes.length));
    });
    for (let at = 0; at < mutations.length; at += 150) {
      await ask(online, mutations.slice(at, at + 150), 1000, 400);
      await Bun.sleep(500);
    }
    for (const query of upstream.asked) expect(query.questions).toBe(1);
    await eventually("its share is free again", () => resolves());
  }, 30_000);

  test("clients that disconnect before the answer have no effect on others", async () => {
    for (let i = 0; i < 50; i++) {
      const socket = await online.inside(() =>
        Bun.udpSocket({ connect: { hostname: GATEWAY, port: 53 }, socket: { data() {}, error() {} } }),
      );
      socket.send(question(`gone${i}.example`));
      socket.close();
    }
    // Time alone: answers to closed sockets are still under way.
    await Bun.sleep(300);
    expect(await resolves()).toBe(true);
  });
});

describe("over TCP", () => {
  test("answers several questions on one connection, whole or in pieces", async () => {
    const three = Buffer.concat([1, 2, 3].map((id) => frame(question("a.example", id))));
    expect(await askTcp(online, three, 3)).toEqual({ messages: 3, closed: false });
  });

  test("ends a connection that announces too long a message", async () => {
    expect(await askTcp(online, new Uint8Array([0xff, 0xff, 1, 2, 3]), 1)).toEqual({ messages: 0, closed: true });
  });

  test("accepts few connections of one sandbox", async () => {
    const open: { terminate(): void }[] = [];
    let closed = 0;
    for (let i = 0; i < 20; i++) {
      const connecting = online.inside(() =>
        Bun.connect({ hostname: GATEWAY, port: 53, socket: { data() {}, error() {}, close: () => void closed++ } }),
      );
      open.push(await connecting);
    }
    await eventually("those above the share are closed", () => closed >= 12);
    await staysTrueFor(50, "the others stay open", () => closed === 12);
    for (const connection of open) connection.terminate();
    await eventually("a place is free again", async () => (await askTcp(online, frame(question("a.example")), 1)).messages === 1);
  });
});

test("refuses a sandbox without internet access at once, and asks no other server", async () => {
  // The quickest of several: a busy machine delays any of them.
  const isQuick = async () => {
    const startedAt = performance.now();
    const [reply] = await ask(offline, [question("a.example")]);
    expect(reply && read(reply).rcode).toBe("REFUSED");
    return performance.now() - startedAt < 200;
  };
  await eventually("an answer at once", isQuick, { withinMs: 30_000 });
  expect(upstream.asked).toEqual([]);
});

test("refuses zone transfers", async () => {
  const transfer = dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "AXFR", name: "corp.example" }] });
  const [reply] = await ask(online, [transfer]);
  expect(reply && read(reply).rcode).toBe("REFUSED");
  expect(upstream.asked).toEqual([]);
});
