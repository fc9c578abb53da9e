import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import type { SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { type Lab, MACHINE, openLab, PUBLIC } from "./lab/lab.ts";
import { greet, sendForged, tryTcp } from "./lab/traffic.ts";
import { openNetwork } from "./open-network.ts";

const PORT = 8080;
/** Half of the connections that the machine can track, according to `mostTracked`. */
const MOST = 512;

let lab: Lab;
let networks: SandboxNetworks;
beforeAll(async () => {
  lab = await openLab();
  networks = await openNetwork({
    ...{ instance: "0000aaab", network: "10.216.0.0/16", logger: silentLogger, mostTracked: 2 * MOST },
    ...{ stateDirectory: `${lab.directory}/state`, runDirectory: `${lab.directory}/run`, resolvConf: `${lab.directory}/none` },
  });
});
afterAll(async () => {
  await networks?.release();
  await lab?.end();
});

async function plugIn(name: string) {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${name}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, { internetAccess: true });
  return { standIn, lease };
}

test("all sandboxes together hold a bounded part of the connections that the machine can track, and the machine can still connect", async () => {
  const outside = await inNetworkNamespace(lab.outside, () => greet(PUBLIC, PORT));
  const crowd = [await plugIn("one"), await plugIn("two")];
  for (let batch = 0; batch < 10; batch++) {
    for (const { standIn, lease } of crowd) {
      standIn.inside(() => {
        for (let i = 0; i < 100; i++) sendForged(lease.address, PUBLIC, PORT, { from: 10_000 + batch * 100 + i });
      });
    }
    await Bun.sleep(5);
  }
  await eventually("nearly all are taken", () => outside.seen.length > 0.8 * MOST);
  expect(outside.seen.length).toBeLessThanOrEqual(MOST);
  const [one] = crowd;
  const greeter = await one?.standIn.inside(() => greet(one.lease.address, PORT));
  expect(await tryTcp(one?.lease.address ?? "", PORT)).toStartWith("hello ");
  expect(outside.seen).toContain(MACHINE);
  greeter?.stop();
  outside.stop();
});
