import dnsPacket from "dns-packet";
import { frame } from "../dns/exchange.ts";

/** For tests: a name server that answers the address of `addresses`, or else 192.0.2.1, and misbehaves on request. */
export interface NameServer {
  readonly asked: { readonly id: number; readonly port: number; readonly questions: number; readonly name: string }[];
  /** Says SERVFAIL. */
  fail: boolean;
  /** Says nothing. */
  silent: boolean;
  /** Sends wrong answers before the right one. */
  lie: boolean;
  /** Addresses of names. */
  readonly addresses: Map<string, string>;
  reset(): void;
  stop(): void;
}

type Query = ReturnType<typeof dnsPacket.decode>;

function answer(query: Query, data: string, extra: { id?: number; name?: string; rcode?: number } = {}): Buffer {
  const [asked] = query.questions ?? [];
  const name = extra.name ?? asked?.name ?? ".";
  const count = name.startsWith("long.") ? 100 : 1;
  return dnsPacket.encode({
    type: "response",
    id: extra.id ?? query.id ?? 0,
    flags: dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | (extra.rcode ?? 0),
    questions: asked ? [{ ...asked, name }] : [],
    answers: extra.rcode ? [] : Array.from({ length: count }, () => ({ type: "A", name, ttl: 5, data })),
  });
}

/** Starts a name server on `host`, port 53, in this thread's network namespace. */
export async function startNameServer(host: string): Promise<NameServer> {
  const state: NameServer = {
    asked: [],
    fail: false,
    silent: false,
    lie: false,
    addresses: new Map(),
    reset() {
      state.asked.length = 0;
      state.fail = state.silent = state.lie = false;
    },
    stop() {
      udp.close();
      tcp.stop(true);
    },
  };
  const replies = (bytes: Buffer, port: number): Buffer[] => {
    const query = dnsPacket.decode(bytes);
    const name = query.questions?.[0]?.name ?? "";
    state.asked.push({ id: query.id ?? 0, port, questions: query.questions?.length ?? 0, name });
    if (state.silent) return [];
    if (state.fail) return [answer(query, "", { rcode: 2 })];
    const right = answer(query, state.addresses.get(name.toLowerCase()) ?? "192.0.2.1");
    if (!state.lie) return [right];
    const wrongId = answer(query, "192.0.2.66", { id: ((query.id ?? 0) + 1) & 0xffff });
    return [wrongId, answer(query, "192.0.2.67", { name: "other.example" }), Buffer.from("rubbish"), right];
  };
  const udp = await Bun.udpSocket({
    hostname: host,
    port: 53,
    socket: {
      data(socket, data, port, from) {
        for (const reply of replies(data, port)) {
          // Like a real name server: an answer that does not fit is truncated.
          if (reply.length > 512) socket.send(truncated(reply), port, from);
          else socket.send(reply, port, from);
        }
      },
      error() {},
    },
  });
  const tcp = Bun.listen({
    hostname: host,
    port: 53,
    socket: {
      data(socket, data) {
        for (const reply of replies(data.subarray(2), socket.remotePort)) socket.write(frame(reply));
      },
    },
  });
  return state;
}

function truncated(reply: Buffer): Buffer {
  const query = dnsPacket.decode(reply);
  return dnsPacket.encode({
    type: "response",
    id: query.id ?? 0,
    flags: (query.flags ?? 0) | dnsPacket.TRUNCATED_RESPONSE,
    questions: query.questions ?? [],
  });
}
