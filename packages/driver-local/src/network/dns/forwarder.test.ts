import { expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually, freePort } from "@boxyard/testkit";
import dnsPacket from "dns-packet";
import { DNS_LIMITS, type DnsClient, Forwarder } from "./forwarder.ts";
import { Resolver } from "./resolver.ts";

const question = (name: string, id: number) =>
  dnsPacket.encode({ type: "query", id, flags: dnsPacket.RECURSION_DESIRED, questions: [{ type: "A", name }] });

test("a sandbox gets an answer while others fill every place with unanswered questions", async () => {
  const clients = new Map<string, DnsClient>();
  const port = await freePort();
  // The machine's name server answers only the question of the modest sandbox.
  const exchange: ConstructorParameters<typeof Resolver>[0]["exchange"] = {
    udp: ({ query, signal }) => {
      const asked = dnsPacket.decode(Buffer.from(query));
      if (asked.questions?.[0]?.name !== "modest.example") {
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
      }
      return Promise.resolve(
        new Uint8Array(dnsPacket.encode({ type: "response", id: asked.id ?? 0, flags: 0, questions: asked.questions, answers: [] })),
      );
    },
    tcp: () => Promise.resolve(undefined),
  };
  const forwarder = new Forwarder({
    address: "127.0.0.1",
    port,
    inNamespace: (work) => work(),
    clientOf: (address) => clients.get(address),
    resolver: new Resolver({ servers: () => ["192.0.2.53"], clock: systemClock, exchange }),
    clock: systemClock,
    logger: silentLogger,
  });
  await forwarder.open();
  const sockets: { close(): void }[] = [];
  const from = async (address: string, onReply: (reply: Uint8Array) => void = () => {}) => {
    clients.set(address, { address, resolves: () => true });
    const socket = await Bun.udpSocket({
      hostname: address,
      connect: { hostname: "127.0.0.1", port },
      socket: { data: (_socket, data) => onReply(new Uint8Array(data)) },
    });
    sockets.push(socket);
    return socket;
  };
  try {
    for (let n = 0; n < DNS_LIMITS.inFlight / DNS_LIMITS.inFlightPerLease; n++) {
      const greedy = await from(`127.0.1.${n + 1}`);
      const sent = Math.min(DNS_LIMITS.inFlight, forwarder.load.inFlight + DNS_LIMITS.inFlightPerLease);
      for (let i = 0; i < DNS_LIMITS.inFlightPerLease; i++) greedy.send(question(`n${n}-${i}.example`, i));
      await eventually("its questions are in flight", () => forwarder.load.inFlight >= sent);
    }
    expect(forwarder.load.inFlight).toBe(DNS_LIMITS.inFlight);
    const replies: ReturnType<typeof dnsPacket.decode>[] = [];
    const modest = await from("127.0.2.1", (reply) => replies.push(dnsPacket.decode(Buffer.from(reply))));
    modest.send(question("modest.example", 7));
    await eventually("the modest one has its answer", () => replies.length > 0);
    expect([replies[0]?.id, replies[0]?.rcode]).toEqual([7, "NOERROR"]);
    expect(forwarder.load.inFlight).toBeLessThanOrEqual(DNS_LIMITS.inFlight);
  } finally {
    for (const socket of sockets) socket.close();
    forwarder.close();
  }
});
