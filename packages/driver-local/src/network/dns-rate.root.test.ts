import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { SandboxNetworks } from "../parts.ts";
import { close, sendto, socket } from "../sys/libc.ts";
import { runCommand } from "../sys/run.ts";
import { type Lab, openLab, type StandIn } from "./lab/lab.ts";
import { openNetwork } from "./open-network.ts";
import { DNS_RATE } from "./rules.ts";
import { DEFAULT_SHARES } from "./shares.ts";

const GATEWAY = "10.219.0.1";
const AF_INET = 2;
const SOCK_DGRAM = 2;

let lab: Lab;
let networks: SandboxNetworks;

beforeAll(async () => {
  lab = await openLab();
  networks = await openNetwork({
    instance: "0000bbcc",
    network: "10.219.0.0/16",
    stateDirectory: join(lab.directory, "state"),
    runDirectory: join(lab.directory, "run"),
    resolvConf: join(lab.directory, "resolv.conf"),
    logger: silentLogger,
  });
});
afterAll(async () => {
  await networks?.release();
  await lab?.end();
});

async function plugIn(id: string): Promise<{ sandbox: StandIn; address: string }> {
  const sandbox = await lab.sandbox();
  const lease = networks.allocate(id as SandboxId, 1);
  // Without internet access its questions are refused at once, so they cost the test's own process little time.
  await networks.attach(lease, sandbox.pid, { internetAccess: false });
  return { sandbox, address: lease.address };
}

/** Sends so many datagrams to the name server, without a pause. */
function flood(from: StandIn, count: number): void {
  const to = Uint8Array.from([AF_INET, 0, 0, 53, ...GATEWAY.split(".").map(Number), ...new Array(8).fill(0)]);
  const payload = new Uint8Array(32);
  from.inside(() => {
    const fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (let sent = 0; sent < count; sent++) sendto(fd, payload, 0, to);
    close(fd);
  });
}

const inRouter = (...command: readonly [string, ...string[]]) =>
  runCommand(["nsenter", `--net=${lab.directory}/run/boxyard-0000bbcc`, ...command]);

/** Counts the packets of `source` to the name server that the rules accept from now on; the returned function reads the count. */
async function countAccepted(source: string): Promise<() => Promise<number>> {
  const chain = "{ type filter hook input priority 10; }";
  await inRouter(
    "nft",
    `add table inet count; add chain inet count accepted ${chain}; add rule inet count accepted ip saddr ${source} counter`,
  );
  return async () => Number(/counter packets (\d+)/.exec(await inRouter("nft", "list", "table", "inet", "count"))?.[1]);
}

test("a sandbox that asks rarely loses no question, however many others ask as fast as they can", async () => {
  const greedy: StandIn[] = [];
  for (let i = 0; i < 24; i++) greedy.push((await plugIn(`igreedy${i}`)).sandbox);
  const { sandbox: modest, address } = await plugIn("imodest");
  const accepted = await countAccepted(address);
  // Together more than all may ask in a second; each sends no more than it alone may send.
  expect(greedy.length * 2 * DEFAULT_SHARES.questions).toBeGreaterThan(2 * DNS_RATE.total);
  for (const sandbox of greedy) {
    flood(sandbox, 2 * DEFAULT_SHARES.questions);
    flood(modest, 1);
  }
  expect(await accepted()).toBe(greedy.length);
  // But a flood of its own is limited.
  flood(modest, 20 * DEFAULT_SHARES.questions);
  expect(await accepted()).toBeLessThan(10 * DEFAULT_SHARES.questions);
}, 60_000);
