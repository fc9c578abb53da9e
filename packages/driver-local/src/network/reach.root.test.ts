import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { FORBIDDEN, type Lab, MACHINE, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type Greeter, greet, sendForged, tryTcp, tryUdp } from "./lab/traffic.ts";
import { openNetwork } from "./open-network.ts";
import { DEFAULT_SHARES } from "./shares.ts";
import { readSysctl, writeSysctl } from "./sysctl.ts";

/** What a sandbox can reach, and what can reach it. Each refused attempt has a counterpart: the same address is open to another sender. */

const PORT = 8080;
const HOST_ADDRESS = "10.216.0.2";
const GATEWAY = "10.216.0.1";

interface Plugged {
  readonly standIn: StandIn;
  readonly lease: NetworkLease;
}

let lab: Lab;
let networks: SandboxNetworks;
let online: Plugged;
let neighbour: Plugged;
let offline: Plugged;
let outside: Greeter;
const greeters: Greeter[] = [];
const seenBy = new Map<string, string[]>();

async function plugIn(name: string, internetAccess: boolean): Promise<Plugged> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${name}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, { internetAccess });
  return { standIn, lease };
}

beforeAll(async () => {
  lab = await openLab();
  networks = await openNetwork({
    instance: "0000aaaa",
    network: "10.216.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/none`,
    logger: silentLogger,
  });
  online = await plugIn("online", true);
  neighbour = await plugIn("neighbour", true);
  offline = await plugIn("offline", false);
  for (const host of [PUBLIC, ...FORBIDDEN]) greeters.push(await inNetworkNamespace(lab.outside, () => greet(host, PORT)));
  [outside] = greeters as [Greeter];
  for (const host of [MACHINE, HOST_ADDRESS, "127.0.0.1"]) greeters.push(await greet(host, PORT));
  for (const { standIn, lease } of [online, neighbour, offline]) {
    const greeter = await standIn.inside(() => greet(lease.address, PORT));
    greeters.push(greeter);
    seenBy.set(lease.address, greeter.seen);
  }
});

afterAll(async () => {
  for (const greeter of greeters) greeter.stop();
  await networks?.release();
  await lab?.end();
});

describe("a sandbox with internet access", () => {
  test("reaches the outside under the machine's address, over TCP and UDP", async () => {
    const { standIn } = online;
    const said = [await standIn.inside(() => tryTcp(PUBLIC, PORT)), await standIn.inside(() => tryUdp(PUBLIC, PORT))];
    expect(said).toEqual([`hello ${MACHINE}`, `hello ${MACHINE}`]);
  });

  test("reaches no private, link-local, CGNAT or metadata address, though the machine does", async () => {
    const results = FORBIDDEN.map(async (host) => ({
      host,
      machine: await tryTcp(host, PORT),
      tcp: await online.standIn.inside(() => tryTcp(host, PORT)),
      udp: await online.standIn.inside(() => tryUdp(host, PORT)),
    }));
    const expected = FORBIDDEN.map((host) => ({ host, machine: `hello ${MACHINE}`, tcp: "refused", udp: "refused" }));
    expect(await Promise.all(results)).toEqual(expected);
  });

  test("reaches no service of the machine, on none of its addresses", async () => {
    for (const host of [MACHINE, HOST_ADDRESS]) {
      expect(await tryTcp(host, PORT)).toStartWith("hello");
      expect(await online.standIn.inside(() => tryTcp(host, PORT))).toBe("refused");
      expect(await online.standIn.inside(() => tryUdp(host, PORT))).not.toStartWith("hello");
    }
    expect(await online.standIn.inside(() => tryTcp(GATEWAY, PORT))).toBe("refused");
    // The router and the machine both drop packets to a loopback address, however they are sent.
    await online.standIn.run("ip", "route", "replace", "127.0.0.1", "via", GATEWAY, "dev", "eth0", "onlink", "table", "local");
    const seen = greeters.flatMap((greeter) => greeter.seen).length;
    online.standIn.inside(() => sendForged(online.lease.address, "127.0.0.1", PORT));
    await staysTrueFor(100, "no service sees it", () => greeters.flatMap((greeter) => greeter.seen).length === seen);
  });

  test("reaches no other sandbox, neither by broadcast nor by multicast", async () => {
    const { address } = neighbour.lease;
    expect(await tryTcp(address, PORT)).toBe(`hello ${HOST_ADDRESS}`);
    expect(await online.standIn.inside(() => tryTcp(address, PORT))).toBe("refused");
    expect(await online.standIn.inside(() => tryUdp(address, PORT))).toBe("refused");
    const before = seenBy.get(address)?.length;
    for (const all of ["10.216.255.255", "224.0.0.1", "239.1.1.1"]) await online.standIn.inside(() => tryUdp(all, PORT, "x", 100));
    expect(seenBy.get(address)).toHaveLength(before ?? -1);
  });

  test("sends from no address but its own", async () => {
    const before = outside.seen.length;
    online.standIn.inside(() => {
      for (const source of [neighbour.lease.address, HOST_ADDRESS, GATEWAY, MACHINE, "203.0.113.99", "10.216.200.200"]) {
        sendForged(source, PUBLIC, PORT);
      }
      sendForged(online.lease.address, PUBLIC, PORT);
    });
    await eventually("what is not forged arrives", () => outside.seen.length > before);
    await staysTrueFor(200, "nothing else arrives", () => outside.seen.length === before + 1);
    expect(outside.seen.slice(before)).toEqual([MACHINE]);
  });

  test("sends no protocol but TCP, UDP and echo requests", async () => {
    const experimental = 253;
    const count = () => received(inNetworkNamespace(lab.outside, () => readFileSync("/proc/thread-self/net/snmp", "utf8")));
    const before = count();
    online.standIn.inside(() => sendForged(online.lease.address, PUBLIC, PORT, { protocol: experimental }));
    await staysTrueFor(100, "nothing arrives", () => count() === before);
    online.standIn.inside(() => sendForged(online.lease.address, PUBLIC, PORT));
    await eventually("the same packet over UDP arrives", () => count() > before);
  });

  test("reaches no port that the machine redirects elsewhere, as container engines do", async () => {
    const rules = "add table ip publish; add chain ip publish pre { type nat hook prerouting priority dstnat; }";
    await Bun.spawn(["nft", rules]).exited;
    await Bun.spawn(["nft", `add rule ip publish pre ip daddr 198.51.100.99 dnat to ${PUBLIC}`]).exited;
    expect(await online.standIn.inside(() => tryTcp("198.51.100.99", PORT))).toBe("refused");
    await Bun.spawn(["nft", "delete table ip publish"]).exited;
  });

  test("holds a bounded number of connections, and its neighbour can still connect", async () => {
    const crowd = await plugIn("crowd", true);
    const before = outside.seen.length;
    for (let batch = 0; batch < 50; batch++) {
      crowd.standIn.inside(() => {
        for (let i = 0; i < 100; i++) sendForged(crowd.lease.address, PUBLIC, PORT, { from: 10_000 + batch * 100 + i });
      });
      await Bun.sleep(5);
    }
    // Time alone: packets are still under way, and nothing says which is the last.
    await Bun.sleep(200);
    const arrived = outside.seen.length - before;
    expect(arrived).toBeGreaterThan(1000);
    expect(arrived).toBeLessThanOrEqual(DEFAULT_SHARES.connections);
    expect(await crowd.standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe("refused");
    expect(await neighbour.standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe(`hello ${MACHINE}`);
  });

  test("has no IPv6, even when its root turns it on", async () => {
    const { standIn } = online;
    expect(await standIn.run("cat", "/proc/sys/net/ipv6/conf/eth0/disable_ipv6")).toBe("1\n");
    expect(await standIn.run("ip", "-6", "addr", "show", "dev", "eth0")).toBe("");
    expect((await standIn.run("ip", "-6", "-o", "addr")).match(/inet6 \S+/g)).toEqual(["inet6 ::1/128"]);
    await standIn.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6");
    await standIn.run("ip", "-6", "addr", "add", "fd77::2/64", "dev", "eth0", "nodad");
    await standIn.run("ip", "-6", "neigh", "replace", "fd77::1", "lladdr", "02:63:0a:d8:00:10", "dev", "eth0");
    await standIn.run("ip", "-6", "route", "replace", "default", "via", "fd77::1");
    expect(await standIn.inside(() => tryTcp("2001:db8::7", PORT, 300))).toBe("silence");
    const router = await runInRouter(
      "sh",
      "-c",
      "cat /proc/sys/net/ipv6/conf/*/disable_ipv6 | sort -u; grep -w Ip6OutForwDatagrams /proc/net/snmp6",
    );
    expect(router.split(/\s+/)).toEqual(["1", "Ip6OutForwDatagrams", "0", ""]);
  });

  test("can't make the machine's ARP table remember anything", async () => {
    const { standIn } = online;
    await standIn.run("ip", "addr", "add", "10.216.77.77/32", "dev", "eth0");
    await standIn.run("ip", "neigh", "flush", "dev", "eth0", "nud", "permanent");
    // Without the permanent entry the sandbox sends ARP requests. They get no answer and have no effect.
    expect(await standIn.inside(() => tryTcp(PUBLIC, PORT, 300))).toBe("silence");
    const router = await runInRouter("ip", "neigh");
    expect(router.split("\n").filter((line) => line && !line.trimEnd().endsWith("PERMANENT"))).toEqual([]);
    await standIn.run("ip", "neigh", "replace", GATEWAY, "lladdr", "02:63:0a:d8:00:10", "dev", "eth0", "nud", "permanent");
    expect(await standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe(`hello ${MACHINE}`);
  });
});

describe("a sandbox without internet access", () => {
  test("reaches nothing outside, but answers the machine", async () => {
    const { standIn, lease } = offline;
    expect(await standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe("refused");
    expect(await standIn.inside(() => tryUdp(PUBLIC, PORT))).toBe("refused");
    expect(await standIn.inside(() => tryTcp(MACHINE, PORT))).toBe("refused");
    expect(await tryTcp(lease.address, PORT)).toBe(`hello ${HOST_ADDRESS}`);
    expect(await tryUdp(lease.address, PORT)).toBe(`hello ${HOST_ADDRESS}`);
  });
});

describe("the outside", () => {
  test("reaches no sandbox, though it has a route to it", async () => {
    const { address } = online.lease;
    expect(await inNetworkNamespace(lab.outside, () => tryTcp(address, PORT))).not.toStartWith("hello");
    expect(await inNetworkNamespace(lab.outside, () => tryUdp(address, PORT))).not.toStartWith("hello");
  });

  test("is not let through the machine to other links, though we turned forwarding on", async () => {
    expect(readSysctl("ipv4/conf/eth0/forwarding")).toBe("1");
    expect(readSysctl("ipv4/ip_forward")).toBe("0");
    // A local network behind the machine, to which the outside has a route. What comes from there is forwarded, so that answers get back.
    const [inside, subnet] = ["192.0.2.2", "192.0.2.0/24"];
    const host = await lab.sandbox();
    await run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1", "netns", `${host.pid}`);
    await run("ip", "addr", "add", "192.0.2.1/24", "dev", "lan0");
    await run("ip", "link", "set", "lan0", "up");
    writeSysctl("ipv4/conf/lan0/forwarding", "1");
    await host.run("ip", "addr", "add", `${inside}/24`, "dev", "lan1");
    await host.run("ip", "link", "set", "lan1", "up");
    await host.run("ip", "route", "add", "default", "via", "192.0.2.1");
    await inNetworkNamespace(lab.outside, () => run("ip", "route", "add", subnet, "via", MACHINE, "dev", "out0", "onlink"));
    const greeter = await host.inside(() => greet(inside, PORT));
    greeters.push(greeter);
    const fromOutside = () => inNetworkNamespace(lab.outside, () => tryTcp(inside, PORT));
    // On a busy machine, a new link carries its first packets late.
    await eventually("the machine reaches the network", async () => (await tryTcp(inside, PORT)) === "hello 192.0.2.1");
    expect(await fromOutside()).toBe("silence");
    // Without the rule the same connection is allowed.
    const chain = ["inet", "boxyard_0000aaaa", "forward"];
    const listed = await run("nft", "--handle", "list", "chain", ...chain);
    const [, rule = "", handle = ""] = /(iifname "eth0" oifgroup != \d+ drop) .*# handle (\d+)$/m.exec(listed) ?? [];
    await run("nft", "delete", "rule", ...chain, "handle", handle);
    expect(await fromOutside()).toMatch(/^hello /);
    await run("nft", ["add rule", ...chain, rule].join(" "));
    expect(await fromOutside()).toBe("silence");
    await run("ip", "link", "del", "lan0");
  });
});

test("the machine reaches every port of a sandbox, low ones too", async () => {
  for (const port of [1, 22, 53, 3000, 49983, 65535]) {
    const greeter = await offline.standIn.inside(() => greet("0.0.0.0", port));
    expect(await tryTcp(offline.lease.address, port)).toBe(`hello ${HOST_ADDRESS}`);
    greeter.stop();
  }
});

test("an address without a lease is unreachable at once", async () => {
  // The quickest of several: a busy machine delays any of them.
  const isQuick = async () => {
    const startedAt = performance.now();
    expect(await tryTcp("10.216.99.99", PORT, 3000)).toBe("refused");
    return performance.now() - startedAt < 500;
  };
  await eventually("an answer at once", isQuick, { withinMs: 30_000 });
});

test("packets are as large as the uplink allows, and loopback is up", async () => {
  const links = await online.standIn.run("ip", "-o", "link");
  expect(links).toMatch(/lo: <LOOPBACK,UP,LOWER_UP>/);
  expect(links).toMatch(/eth0@\S+ <\S*UP,LOWER_UP\S*> mtu 1400/);
});

/** Runs a program in the namespace of this thread. */
async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${err}`);
  return out;
}

async function runInRouter(...command: string[]): Promise<string> {
  const run = Bun.spawn(["nsenter", `--net=${lab.directory}/run/boxyard-0000aaaa`, ...command], { stdout: "pipe" });
  return new Response(run.stdout).text();
}

/** InReceives of the Ip lines of /proc/net/snmp. */
function received(snmp: string): number {
  const [names, values] = snmp.split("\n").filter((line) => line.startsWith("Ip:"));
  const at = names?.split(" ").indexOf("InReceives") ?? -1;
  return Number(values?.split(" ")[at]);
}
