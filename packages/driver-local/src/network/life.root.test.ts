import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { networkChecks } from "./checks.ts";
import { type Lab, MACHINE, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type Greeter, greet, tryTcp } from "./lab/traffic.ts";
import { listLinks, newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import type { NetworksConfig } from "./networks-config.ts";
import { openNetwork } from "./open-network.ts";
import { releaseNetwork } from "./release.ts";
import { readSysctl, writeSysctl } from "./sysctl.ts";

/** The life of the network: opened, used, closed, opened again, released; by one instance and by two. */

const PORT = 8080;
const INTERNET = { internetAccess: true };

let lab: Lab;
let greeters: Greeter[];
let opened: SandboxNetworks[];

beforeEach(async () => {
  lab = await openLab();
  opened = [];
  greeters = [await inNetworkNamespace(lab.outside, () => greet(PUBLIC, PORT))];
});

afterEach(async () => {
  for (const greeter of greeters) greeter.stop();
  for (const networks of opened) await networks.release();
  await lab.end();
});

function config(overrides: Partial<NetworksConfig> = {}): NetworksConfig {
  return {
    instance: "0000cccc",
    network: "10.218.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/none`,
    logger: silentLogger,
    ...overrides,
  };
}

async function openOne(overrides: Partial<NetworksConfig> = {}): Promise<SandboxNetworks> {
  const networks = await openNetwork(config(overrides));
  opened.push(networks);
  return networks;
}

async function plugIn(networks: SandboxNetworks, name: string): Promise<{ standIn: StandIn; lease: NetworkLease }> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${name}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, INTERNET);
  return { standIn, lease };
}

const reachesOutside = async (standIn: StandIn): Promise<boolean> =>
  (await standIn.inside(() => tryTcp(PUBLIC, PORT))) === `hello ${MACHINE}`;

function links(): string[] {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    return listLinks(netlink)
      .map((link) => link.name)
      .sort();
  } finally {
    netlink.close();
  }
}

async function output(...command: string[]): Promise<string> {
  const run = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  return (await new Response(run.stdout).text()) + (await new Response(run.stderr).text());
}

const routerLinks = (instance = "0000cccc"): Promise<string> =>
  output("nsenter", `--net=${lab.directory}/run/boxyard-${instance}`, "ip", "-o", "link");

/** What an instance has on the machine, read with the machine's own tools; empty when nothing is left. */
async function traces(): Promise<string> {
  const found = [
    ...links().filter((name) => name.startsWith("by")),
    (await output("nft", "list", "ruleset")).trim(),
    ...(existsSync(`${lab.directory}/run`) ? readdirSync(`${lab.directory}/run`) : []),
    ...readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(lab.directory)),
    (await output("ip", "route")).split("\n").filter((line) => line.startsWith("10.")),
    readSysctl("ipv4/conf/eth0/forwarding") === "0" ? "" : "eth0 forwards",
  ];
  return found.flat().filter(Boolean).join("\n");
}

describe("change", () => {
  test("closes and opens the outside to a running sandbox, and outlives the process", async () => {
    const first = await openOne();
    const { standIn, lease } = await plugIn(first, "changing");
    const { standIn: other } = await plugIn(first, "other");
    expect(await reachesOutside(standIn)).toBe(true);
    await first.change(lease, { internetAccess: false });
    await first.change(lease, { internetAccess: false });
    expect([await reachesOutside(standIn), await reachesOutside(other)]).toEqual([false, true]);
    await first.close();
    const second = await openOne();
    second.adopt([lease]);
    expect(await reachesOutside(standIn)).toBe(false);
    await second.change(lease, INTERNET);
    expect(await reachesOutside(standIn)).toBe(true);
  });

  test("is refused for a lease that was released", async () => {
    const networks = await openOne();
    const { standIn, lease } = await plugIn(networks, "gone");
    await standIn.end();
    await networks.detach(lease);
    expect(await networks.change(lease, INTERNET).catch((error: unknown) => error)).toMatchObject({ reason: "unknown_lease" });
  });
});

describe("attach and detach", () => {
  test("take less time than starting a few programs, and are complete once the processes have ended", async () => {
    const networks = await openOne();
    const plugged: { standIn: StandIn; lease: NetworkLease }[] = [];
    const [attachMs, programMs]: [number[], number[]] = [[], []];
    for (let i = 0; i < 40; i++) {
      const standIn = await lab.sandbox();
      const lease = networks.allocate(`i${i}` as SandboxId, 1);
      const startedAt = performance.now();
      await networks.attach(lease, standIn.pid, INTERNET);
      const attachedAt = performance.now();
      await Bun.spawn(["true"]).exited;
      attachMs.push(attachedAt - startedAt);
      programMs.push(performance.now() - attachedAt);
      plugged.push({ standIn, lease });
    }
    expect((await routerLinks()).match(/ s0ada/g)).toHaveLength(40);
    const detachMs: number[] = [];
    for (const { standIn, lease } of plugged) {
      await standIn.end();
      const startedAt = performance.now();
      await networks.detach(lease);
      detachMs.push(performance.now() - startedAt);
    }
    expect((await routerLinks()).match(/ s0ada/g)).toBeNull();
    const p50 = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    console.log(`attach p50 ${p50(attachMs).toFixed(2)} ms, detach until the link is gone p50 ${p50(detachMs).toFixed(1)} ms`);
    // The promise is 1.5 ms on a quiet machine. A busy one delays both.
    expect(p50(attachMs)).toBeLessThan(5 * p50(programMs));
  }, 30_000);

  test("a detach cuts off a sandbox that still runs, and deletes its link", async () => {
    const networks = await openOne();
    const { standIn, lease } = await plugIn(networks, "alive");
    expect(await reachesOutside(standIn)).toBe(true);
    await networks.detach(lease);
    expect(await reachesOutside(standIn)).toBe(false);
    expect(await routerLinks()).not.toContain(lease.link);
    expect(await standIn.run("ip", "-o", "link")).not.toContain("eth0");
    await networks.detach(lease);
  });

  test("a detach by an adopting process, which knows no pid, deletes a link that does not go by itself", async () => {
    const first = await openOne();
    const { standIn, lease } = await plugIn(first, "kept");
    await first.close();
    const second = await openOne();
    second.adopt([lease]);
    const done = second.detach(lease);
    expect(await reachesOutside(standIn)).toBe(false);
    await done;
    expect(await routerLinks()).not.toContain(lease.link);
  }, 15_000);

  test("the detach of an old lease changes nothing for the lease that has its address now", async () => {
    const networks = await openOne();
    const { standIn, lease } = await plugIn(networks, "new");
    await networks.detach({ ...lease, sandboxId: "iold" as SandboxId });
    await networks.detach({ ...lease, incarnation: 0 });
    expect(await reachesOutside(standIn)).toBe(true);
  });

  test("an attach that fails leaves nothing after a detach", async () => {
    const networks = await openOne();
    const lease = networks.allocate("inobody" as SandboxId, 1);
    expect(await networks.attach(lease, 2 ** 22 + 1, INTERNET).catch((error: unknown) => error)).toMatchObject({ code: "not_found" });
    await networks.detach(lease);
    expect(await networks.attach(lease, process.pid, INTERNET).catch((error: unknown) => error)).toMatchObject({ reason: "unknown_lease" });
    expect(await routerLinks()).not.toContain(lease.link);
  });

  test("each lease has another address, also after a restart", async () => {
    const given = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const networks = await openNetwork(config());
      for (let i = 0; i < 300; i++) {
        const lease = networks.allocate(`i${i}` as SandboxId, 1);
        expect(given.has(lease.address)).toBe(false);
        given.add(lease.address);
        await networks.detach(lease);
      }
      await networks.close();
    }
    await releaseNetwork(config());
  });
});

describe("a restart", () => {
  test("leaves connections as they are, and is quicker than the first start", async () => {
    const openedAt = performance.now();
    const first = await openOne();
    const anewMs = performance.now() - openedAt;
    const { standIn, lease } = await plugIn(first, "stays");
    const held = await standIn.inside(() => greet(lease.address, PORT));
    greeters.push(held);
    const said: string[] = [];
    const connection = await Bun.connect({
      hostname: lease.address,
      port: PORT,
      socket: { data: (_socket, data) => void said.push(data.toString()) },
    });
    await first.close();
    const timedOpen = async () => {
      const startedAt = performance.now();
      return { networks: await openOne(), ms: performance.now() - startedAt };
    };
    const { networks: second, ms: tookMs } = await timedOpen();
    expect(await reachesOutside(standIn)).toBe(true);
    second.adopt([lease]);
    expect(await reachesOutside(standIn)).toBe(true);
    expect(connection.write("still there")).toBe(11);
    await eventually("the connection carries an answer", () => said.length > 0);
    expect(said).toEqual(["hello 10.218.0.2"]);
    connection.terminate();
    for (let i = 0; i < 500; i++) expect(second.allocate(`i${i}` as SandboxId, 1).address).not.toBe(lease.address);
    console.log(`open with everything there: ${tookMs.toFixed(1)} ms, with nothing there: ${anewMs.toFixed(1)} ms`);
    // The quickest of several: a busy machine delays any of them.
    let last = { networks: second, ms: tookMs };
    const isQuicker = async () => {
      if (last.ms < anewMs) return true;
      await last.networks.close();
      last = await timedOpen();
      return false;
    };
    await eventually("an open is quicker when everything is there", isQuicker);
  });

  test("is refused while the other server runs", async () => {
    await openOne();
    expect(await openNetwork(config()).catch((error: unknown) => error)).toMatchObject({
      code: "failed_precondition",
      reason: "already_open",
    });
  });

  test("restores what another program removed: rules, link, forwarding, name server's address", async () => {
    const first = await openOne();
    const { standIn, lease } = await plugIn(first, "undone");
    await first.close();
    await output("nft", "flush", "ruleset");
    await output("ip", "addr", "flush", "dev", "by0000cccc");
    writeSysctl("ipv4/conf/eth0/forwarding", "0");
    await output("nsenter", `--net=${lab.directory}/run/boxyard-0000cccc`, "nft", "flush", "ruleset");
    const second = await openOne();
    second.adopt([lease]);
    expect(await reachesOutside(standIn)).toBe(true);
  });

  test("a running server restores the machine's rules by itself; until then the router's rules protect the machine", async () => {
    const networks = await openOne();
    const { standIn } = await plugIn(networks, "watched");
    const service = await greet(MACHINE, PORT);
    greeters.push(service);
    await output("nft", "flush", "ruleset");
    expect(await standIn.inside(() => tryTcp(MACHINE, PORT))).toBe("refused");
    const rulesAreBack = async () => (await output("nft", "list", "tables")).includes("boxyard_0000cccc");
    await eventually("the next check restores the rules", rulesAreBack);
    expect(await reachesOutside(standIn)).toBe(true);
    expect(await standIn.inside(() => tryTcp(MACHINE, PORT))).toBe("refused");
  }, 15_000);
});

describe("release", () => {
  test("leaves nothing, also while sandboxes run, and can be repeated", async () => {
    const networks = await openNetwork(config());
    const { standIn } = await plugIn(networks, "last");
    await networks.release();
    expect(await traces()).toBe("");
    expect(await standIn.run("ip", "-o", "link")).not.toContain("eth0");
    await networks.release();
    await releaseNetwork(config());
    expect(await traces()).toBe("");
  });

  test("leaves the rules and settings of other programs alone", async () => {
    await output("nft", "add table inet other; add chain inet other c { type filter hook forward priority 5; policy accept; }");
    const before = await output("nft", "list", "ruleset");
    writeSysctl("ipv4/ip_forward", "1");
    const networks = await openNetwork(config());
    const { standIn } = await plugIn(networks, "guest");
    expect(await reachesOutside(standIn)).toBe(true);
    expect(await output("nft", "list", "table", "inet", "boxyard_0000cccc")).not.toContain("we opened forwarding");
    await networks.release();
    expect(await output("nft", "list", "ruleset")).toBe(before);
    expect(readSysctl("ipv4/ip_forward")).toBe("1");
    expect(readSysctl("ipv4/conf/eth0/forwarding")).toBe("1");
  });

  test("does not turn off forwarding that another program turned on for all links meanwhile", async () => {
    const networks = await openNetwork(config());
    expect(readSysctl("ipv4/conf/eth0/forwarding")).toBe("1");
    writeSysctl("ipv4/ip_forward", "1");
    await networks.release();
    expect([readSysctl("ipv4/ip_forward"), readSysctl("ipv4/conf/eth0/forwarding")]).toEqual(["1", "1"]);
    expect(existsSync(`${lab.directory}/run`)).toBe(false);
  });

  test("of one instance does not disturb another, and the last release turns forwarding off", async () => {
    const a = await openNetwork(config({ instance: "0000aaa1", network: "10.208.0.0/16" }));
    const b = await openNetwork(config({ instance: "0000bbb2", network: "10.209.0.0/16", stateDirectory: `${lab.directory}/b` }));
    const inA = await plugIn(a, "a");
    const inB = await plugIn(b, "b");
    greeters.push(await inB.standIn.inside(() => greet(inB.lease.address, PORT)));
    expect([await reachesOutside(inA.standIn), await reachesOutside(inB.standIn)]).toEqual([true, true]);
    expect(await tryTcp(inB.lease.address, PORT)).toBe("hello 10.209.0.2");
    expect(await inA.standIn.inside(() => tryTcp(inB.lease.address, PORT))).toBe("refused");
    await a.release();
    expect(await reachesOutside(inB.standIn)).toBe(true);
    expect(readSysctl("ipv4/conf/eth0/forwarding")).toBe("1");
    await b.release();
    expect(await traces()).toBe("");
  });
});

describe("the range", () => {
  test("can be changed between two openings, and nothing of the old one stays", async () => {
    const first = await openOne();
    await plugIn(first, "old");
    await first.close();
    const second = await openOne({ network: "172.20.0.0/20" });
    const { standIn, lease } = await plugIn(second, "new");
    expect(lease.address).toStartWith("172.20.");
    expect(await reachesOutside(standIn)).toBe(true);
    expect(await output("ip", "addr", "show", "by0000cccc")).not.toContain("10.218.");
    expect(await output("ip", "route")).not.toContain("10.218.");
    expect(await routerLinks()).not.toContain("s0ada");
  });

  test("must not overlap the machine's own", async () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress("10.218.44.1") ?? 0, 50));
    netlink.close();
    expect(await openNetwork(config()).catch((error: unknown) => error)).toMatchObject({
      code: "failed_precondition",
      reason: "network_overlap",
      message: expect.stringContaining("10.218.44.1/32 is an address of the machine on eth0"),
    });
    expect(await traces()).toBe("");
  });

  test("that overlaps later does not stop the server, and its sandboxes go on", async () => {
    const first = await openOne();
    const { standIn, lease } = await plugIn(first, "vpn");
    await first.close();
    await output("ip", "route", "add", "10.218.0.0/17", "dev", "eth0");
    const second = await openOne();
    second.adopt([lease]);
    const [, range] = await networkChecks({ instance: "0000cccc", network: "10.218.0.0/16" });
    expect(range).toMatchObject({ status: "warn", found: expect.stringContaining("10.218.0.0/17 is routed to eth0") });
    await output("ip", "route", "del", "10.218.0.0/17", "dev", "eth0");
    expect(await reachesOutside(standIn)).toBe(true);
  });
});

test("doctor finds a firewall that drops forwarded packets, and sees when the firewall accepts our link", async () => {
  const forwarding = async () => (await networkChecks({ instance: "0000cccc", network: "10.218.0.0/16" }))[2];
  expect(await forwarding()).toMatchObject({ status: "ok" });
  await output("nft", "add table ip filter");
  await output("nft", "add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }");
  expect(await forwarding()).toMatchObject({ status: "warn", fix: expect.stringContaining("-i by0000cccc -j ACCEPT") });
  const networks = await openOne();
  const { standIn } = await plugIn(networks, "docker");
  expect(await reachesOutside(standIn)).toBe(false);
  await output("nft", "insert rule ip filter FORWARD iifname by0000cccc accept");
  await output("nft", "insert rule ip filter FORWARD oifname by0000cccc ct state established,related accept");
  expect(await forwarding()).toMatchObject({ status: "ok" });
  expect(await reachesOutside(standIn)).toBe(true);
});

test("kill -9 at any line leaves only what the next opening and release repair", async () => {
  const directory = lab.directory;
  greeters.push(await greet(MACHINE, PORT));
  for (let round = 0; round < 20; round++) {
    const victim = await lab.sandbox();
    const child = Bun.spawn([process.execPath, `${import.meta.dir}/lab/churn.ts`, directory, String(victim.pid)], { stdout: "pipe" });
    // Half of them die while they start, half while they work.
    if (round % 2) await child.stdout.getReader().read();
    await Bun.sleep(round % 2 ? Math.random() * 120 : 60 + Math.random() * 150);
    child.kill("SIGKILL");
    await child.exited;
    const networks = await openOne({ instance: "0000dddd", network: "10.219.0.0/16" });
    const { standIn } = await plugIn(networks, `round${round}`);
    // An nft that the victim had started goes on after the kill: the next check of the machine restores what it removes.
    const looks: string[] = [];
    const reaches = async () => {
      looks.push(await standIn.inside(() => tryTcp(MACHINE, PORT)));
      return reachesOutside(standIn);
    };
    await eventually(`round ${round} reaches the outside`, reaches, { withinMs: 20_000 });
    // The router's rules hold meanwhile.
    expect([...new Set(looks)]).toEqual(["refused"]);
    await standIn.end();
    await victim.end();
    await networks.close();
    await releaseNetwork(config({ instance: "0000dddd", network: "10.219.0.0/16" }));
    expect(await traces()).toBe("");
  }
}, 60_000);
