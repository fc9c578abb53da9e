import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy, NetworkAttempt } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { SandboxNetworks } from "../../parts.ts";
import { inNetworkNamespace } from "../../sys/libc.ts";
import { FORBIDDEN, type Lab, MACHINE, openLab, PUBLIC, type StandIn } from "../lab/lab.ts";
import { type Greeter, greet, sendForged, tryTcp, tryUdp } from "../lab/traffic.ts";
import { openNetwork } from "../open-network.ts";

/** What the record has of packets and of questions, against servers that answer. */

const PORT = 8080;
const [PRIVATE = ""] = FORBIDDEN;
const DENIED = "198.51.100.9";

let lab: Lab;
let networks: SandboxNetworks;
let outside: Greeter;

async function plugIn(name: string, egress: EgressPolicy): Promise<{ standIn: StandIn; id: SandboxId; address: string }> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${name}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, egress);
  return { standIn, id: lease.sandboxId, address: lease.address };
}

beforeAll(async () => {
  lab = await openLab();
  // Nobody answers there: what is asked still comes to an end.
  writeFileSync(`${lab.directory}/resolv.conf`, "nameserver 127.0.0.99\n");
  networks = await openNetwork({
    instance: "0000eeee",
    network: "10.220.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
  });
  outside = await inNetworkNamespace(lab.outside, () => greet(PUBLIC, PORT));
});
afterAll(async () => {
  outside?.stop();
  await networks?.release();
  await lab?.end();
});

const seen: NetworkAttempt[] = [];
const dropped = new Map<SandboxId, number>();
function look(): void {
  const taken = networks.takeAttempts();
  seen.push(...taken.attempts);
  for (const [id, count] of taken.dropped) dropped.set(id, (dropped.get(id) ?? 0) + count);
}

/** Waits until the record has this of the sandbox. */
const recorded = (id: SandboxId, wanted: Partial<NetworkAttempt>) =>
  eventually(`${JSON.stringify(wanted)} of ${id}`, () => {
    look();
    return seen.find(
      (attempt) => attempt.sandboxId === id && Object.entries(wanted).every(([key, value]) => attempt[key as never] === value),
    );
  });

test("has connections that are let out, and each that is refused with its reason", async () => {
  const online = await plugIn("online", { internetAccess: true, denyOut: [DENIED] });
  const offline = await plugIn("offline", { internetAccess: false });
  expect(await online.standIn.inside(() => tryTcp(PUBLIC, PORT))).toStartWith("hello");
  await online.standIn.inside(() => tryUdp(PUBLIC, PORT));
  for (const host of [DENIED, PRIVATE, MACHINE]) expect(await online.standIn.inside(() => tryTcp(host, PORT))).toBe("refused");
  online.standIn.inside(() => sendForged(online.address, PUBLIC, PORT, { protocol: 253 }));
  expect(await offline.standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe("refused");
  const at = { address: PUBLIC, port: PORT };
  await recorded(online.id, { ...at, protocol: "tcp", isAllowed: true, rule: "allowed" });
  await recorded(online.id, { ...at, protocol: "udp", isAllowed: true, rule: "allowed" });
  await recorded(online.id, { address: DENIED, port: PORT, protocol: "tcp", isAllowed: false, rule: "lists" });
  await recorded(online.id, { address: PRIVATE, protocol: "tcp", isAllowed: false, rule: "blocked" });
  await recorded(offline.id, { ...at, protocol: "tcp", isAllowed: false, rule: "internetAccess" });
  const open = await plugIn("open", { internetAccess: true });
  for (const host of [PRIVATE, MACHINE]) expect(await open.standIn.inside(() => tryTcp(host, PORT))).toBe("refused");
  open.standIn.inside(() => sendForged(open.address, PUBLIC, PORT, { protocol: 253 }));
  await recorded(open.id, { address: PRIVATE, port: PORT, isAllowed: false, rule: "blocked" });
  await recorded(open.id, { address: MACHINE, port: PORT, isAllowed: false, rule: "machine" });
  await recorded(open.id, { address: PUBLIC, protocol: "other", isAllowed: false, rule: "protocol" });
});

test("keeps a bounded number a second of a sandbox that floods, and all of another", async () => {
  const flooding = await plugIn("flooding", { internetAccess: false });
  const quiet = await plugIn("quiet", { internetAccess: false });
  for (let i = 0; i < 2000; i++) flooding.standIn.inside(() => sendForged(flooding.address, PUBLIC, 1 + i));
  await quiet.standIn.inside(() => tryTcp(PUBLIC, PORT));
  await recorded(quiet.id, { address: PUBLIC, port: PORT, isAllowed: false });
  const kept = seen.filter(({ sandboxId }) => sandboxId === flooding.id).length + (dropped.get(flooding.id) ?? 0);
  expect(kept).toBeGreaterThan(20);
  expect(kept).toBeLessThan(500);
});
