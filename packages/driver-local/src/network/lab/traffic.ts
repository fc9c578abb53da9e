import { close, sendto, socket } from "../../sys/libc.ts";
import { parseAddress } from "../addresses.ts";

/** For tests: traffic between namespaces. Each function makes its sockets synchronously, so it can be called within a namespace. */

/** The first data that the server sent; else how the attempt failed. */
export type Reached = string;

const WAIT_MS = 600;

/** Connects over TCP and returns the server's first data, or `refused`, `unreachable`, `closed` or `silence`. */
export function tryTcp(host: string, port: number, waitMs = WAIT_MS): Promise<Reached> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("silence"), waitMs);
    const done = (result: Reached) => {
      clearTimeout(timer);
      resolve(result);
    };
    const failed = (error: unknown) => done((error as { code?: string })?.code === "ECONNREFUSED" ? "refused" : "unreachable");
    Bun.connect({
      hostname: host,
      port,
      socket: {
        data(connection, data) {
          done(data.toString());
          connection.end();
        },
        error: (_connection, error) => failed(error),
        connectError: (_connection, error) => failed(error),
        close: () => done("closed"),
      },
    }).catch(failed);
  });
}

/** Sends one datagram and returns the answer, or `refused`, `unreachable` or `silence`. */
export async function tryUdp(host: string, port: number, payload: string | Uint8Array = "hello", waitMs = WAIT_MS): Promise<Reached> {
  const { promise, resolve } = Promise.withResolvers<Reached>();
  const timer = setTimeout(() => resolve("silence"), waitMs);
  const opened = await Bun.udpSocket({ socket: { data: (_s, data) => resolve(data.toString()), error: () => resolve("refused") } });
  try {
    opened.send(payload, port, host);
    return await promise;
  } catch {
    return "unreachable";
  } finally {
    clearTimeout(timer);
    opened.close();
  }
}

export interface Greeter {
  /** Addresses that connections and datagrams came from. */
  readonly seen: string[];
  stop(): void;
}

/** Answers each connection and each datagram with `hello <source address>`. */
export async function greet(host: string, port: number): Promise<Greeter> {
  const seen: string[] = [];
  const tcp = Bun.listen({
    hostname: host,
    port,
    socket: {
      open(connection) {
        seen.push(connection.remoteAddress);
        connection.write(`hello ${connection.remoteAddress}`);
      },
      data() {},
    },
  });
  const udp = await Bun.udpSocket({
    hostname: host,
    port,
    socket: {
      data(server, _data, fromPort, from) {
        seen.push(from);
        server.send(`hello ${from}`, fromPort, from);
      },
      error() {},
    },
  });
  return {
    seen,
    stop() {
      tcp.stop(true);
      udp.close();
    },
  };
}

const AF_INET = 2;
const SOCK_RAW = 3;
const IPPROTO_RAW = 255;
const UDP = 17;

/** Sends a UDP packet with the source address `source`, whether or not the sender has it, as root with raw sockets can. */
export function sendForged(source: string, destination: string, port: number, options: { protocol?: number; from?: number } = {}): void {
  const payload = new TextEncoder().encode("forged");
  const packet = new Uint8Array(28 + payload.length);
  const view = new DataView(packet.buffer);
  packet[0] = 0x45;
  view.setUint16(2, packet.length);
  packet[8] = 64;
  packet[9] = options.protocol ?? UDP;
  view.setUint32(12, parseAddress(source) ?? 0);
  view.setUint32(16, parseAddress(destination) ?? 0);
  view.setUint16(20, options.from ?? 4444);
  view.setUint16(22, port);
  view.setUint16(24, 8 + payload.length);
  packet.set(payload, 28);
  const fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
  try {
    const to = new Uint8Array(16);
    new DataView(to.buffer).setUint16(0, AF_INET, true);
    new DataView(to.buffer).setUint32(4, parseAddress(destination) ?? 0);
    sendto(fd, packet, 0, to);
  } finally {
    close(fd);
  }
}
