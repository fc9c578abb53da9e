import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { type Lab, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type Greeter, greet, sendForged, tryTcp } from "./lab/traffic.ts";
import { openNetwork } from "./open-network.ts";

/** What one sandbox may take of the network, by settings that are small enough to be met at once. */

const SHARES = { bandwidth: 4 << 20, packets: 2000, connections: 40, questions: 10 };
/** More than what may go at once, a second's bytes and half a MiB, by what takes two seconds. */
const BULK = 13 << 20;
const BULK_PORT = 9000;
const PORT = 8080;

let lab: Lab;
let networks: SandboxNetworks;
let outside: Greeter;
let bulk: Bun.TCPSocketListener<{ left: number }>;

/** Sends so many bytes to each client, and counts what each sends. */
function serveBulk(hostname: string): Bun.TCPSocketListener<{ left: number }> {
  const piece = Buffer.alloc(64 << 10);
  const pour = (socket: Bun.Socket<{ left: number }>) => {
    while (socket.data.left > 0) {
      const written = socket.write(piece.subarray(0, Math.min(piece.byteLength, socket.data.left)));
      if (written <= 0) return;
      socket.data.left -= written;
    }
    socket.end();
  };
  return Bun.listen<{ left: number }>({
    hostname,
    port: BULK_PORT,
    socket: {
      open(socket) {
        socket.data = { left: BULK };
        pour(socket);
      },
      drain: pour,
      data() {},
    },
  });
}

/** Takes everything that a server sends; how long that took, in seconds. */
function take(hostname: string): Promise<number> {
  const startedAt = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let got = 0;
  Bun.connect({
    hostname,
    port: BULK_PORT,
    socket: {
      data(_socket, bytes) {
        got += bytes.byteLength;
        if (got === BULK) resolve((performance.now() - startedAt) / 1000);
      },
      close: () => reject(new Error(`closed after ${got} bytes`)),
      connectError: (_socket, error) => reject(error),
    },
  }).catch(reject);
  return promise;
}

beforeAll(async () => {
  lab = await openLab();
  networks = await openNetwork({
    ...{ instance: "0000adad", network: "10.226.0.0/16", logger: silentLogger, shares: SHARES },
    ...{ stateDirectory: `${lab.directory}/state`, runDirectory: `${lab.directory}/run`, resolvConf: `${lab.directory}/none` },
  });
  outside = await inNetworkNamespace(lab.outside, () => greet(PUBLIC, PORT));
  bulk = inNetworkNamespace(lab.outside, () => serveBulk(PUBLIC));
});
afterAll(async () => {
  outside?.stop();
  bulk?.stop(true);
  await networks?.release();
  await lab?.end();
});

let count = 0;
async function plugIn(): Promise<{ standIn: StandIn; lease: NetworkLease }> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${++count}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, { internetAccess: true });
  return { standIn, lease };
}

test("what the outside sends is held to the bandwidth of each sandbox, and the server's own bytes are not", async () => {
  const [one, other] = [await plugIn(), await plugIn()];
  const seconds = await Promise.all([one, other].map(({ standIn }) => standIn.inside(() => take(PUBLIC))));
  for (const taken of seconds) expect(taken).toBeGreaterThan(1.9);
  const inside = one.standIn.inside(() => serveBulk(one.lease.address));
  const own = await Promise.all(Array.from({ length: 8 }, () => take(one.lease.address)));
  expect(Math.max(...own)).toBeLessThan((8 * BULK) / SHARES.bandwidth);
  inside.stop(true);
}, 60_000);

test("what a sandbox sends is held to its bandwidth and its packets, and its neighbour is not touched", async () => {
  const [flooding, neighbour] = [await plugIn(), await plugIn()];
  const sent = 20_000;
  const before = outside.seen.length;
  const startedAt = performance.now();
  flooding.standIn.inside(() => {
    for (let i = 0; i < sent; i++) sendForged(flooding.lease.address, PUBLIC, PORT);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  expect(await neighbour.standIn.inside(() => tryTcp(PUBLIC, PORT))).toStartWith("hello");
  await eventually("what was let out has come", () => outside.seen.length - before > 100);
  // A quarter of a second's packets at once, and then the rate. What the test's own answers add is not among those seen.
  expect(outside.seen.length - before).toBeLessThan(SHARES.packets * (seconds + 0.75));
  expect(outside.seen.length - before).toBeLessThan(sent / 2);
});

test("connections are held to the setting", async () => {
  const sandbox = await plugIn();
  const before = outside.seen.length;
  sandbox.standIn.inside(() => {
    for (let i = 0; i < 200; i++) sendForged(sandbox.lease.address, PUBLIC, PORT, { from: 10_000 + i });
  });
  await eventually("some have come", () => outside.seen.length - before >= SHARES.connections / 2);
  expect(await sandbox.standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe("refused");
  expect(outside.seen.length - before).toBeLessThanOrEqual(SHARES.connections);
});
