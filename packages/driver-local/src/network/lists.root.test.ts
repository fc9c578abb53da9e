import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { type EgressPolicy, MAX_EGRESS_ENTRIES } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { FORBIDDEN, type Lab, MACHINE, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type Greeter, greet, tryTcp, tryUdp } from "./lab/traffic.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** What the lists of single sandboxes deny and permit. Each refused attempt has a permitted counterpart. */

const PORT = 8080;
const HOST_ADDRESS = "10.220.0.2";
const GATEWAY = "10.220.0.1";
/** Another address of the outside that sandboxes may reach. */
const OTHER = "198.51.100.8";
/** How long to wait for an answer: long, since every attempt here is answered. */
const WAIT_MS = 5_000;
const OPEN = `hello ${MACHINE}`;

let lab: Lab;
let networks: SandboxNetworks;
const greeters: Greeter[] = [];

const open = (): Promise<SandboxNetworks> =>
  openNetwork({
    instance: "0000eeee",
    network: "10.220.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/none`,
    logger: silentLogger,
  });

beforeAll(async () => {
  lab = await openLab();
  networks = await open();
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(OTHER) ?? 0, 1));
    netlink.close();
  });
  for (const host of [PUBLIC, OTHER, ...FORBIDDEN]) greeters.push(await inNetworkNamespace(lab.outside, () => greet(host, PORT)));
  for (const host of [MACHINE, HOST_ADDRESS]) greeters.push(await greet(host, PORT));
});

afterAll(async () => {
  for (const greeter of greeters) greeter.stop();
  await networks?.release();
  await lab?.end();
});

interface Plugged {
  readonly standIn: StandIn;
  readonly lease: NetworkLease;
}

let count = 0;

async function plugIn(egress: EgressPolicy): Promise<Plugged> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${++count}` as SandboxId, 1);
  await networks.attach(lease, standIn.pid, egress);
  return { standIn, lease };
}

async function unplug({ standIn, lease }: Plugged): Promise<void> {
  await standIn.end();
  await networks.detach(lease);
}

/** Results of TCP and UDP to PUBLIC, then to OTHER. */
async function reached({ standIn }: Plugged): Promise<string[]> {
  const tries = [PUBLIC, OTHER].flatMap((host) => [
    standIn.inside(() => tryTcp(host, PORT, WAIT_MS)),
    standIn.inside(() => tryUdp(host, PORT, "hello", WAIT_MS)),
  ]);
  return Promise.all(tries);
}

const REFUSED = ["refused", "refused"];
const REACHED = [OPEN, OPEN];

async function inRouter(...command: string[]): Promise<string> {
  const run = Bun.spawn(["nsenter", `--net=${lab.directory}/run/boxyard-0000eeee`, ...command], { stdout: "pipe", stderr: "pipe" });
  return (await new Response(run.stdout).text()) + (await new Response(run.stderr).text());
}

const chainOf = async ({ lease }: Plugged): Promise<string | undefined> =>
  (await inRouter("nft", "list", "tables")).includes("boxyard_0000eeee_lists")
    ? new RegExp(`chain (${lease.link}_\\w+)`).exec(await inRouter("nft", "list", "table", "inet", "boxyard_0000eeee_lists"))?.[1]
    : undefined;

test("a denied address is closed and the others stay open, from the first packet on", async () => {
  const sandbox = await plugIn({ internetAccess: true, denyOut: [PUBLIC, "::/0"] });
  expect(await reached(sandbox)).toEqual([...REFUSED, ...REACHED]);
  await unplug(sandbox);
});

test("an allowed address is open where all is denied, and wins over a denied network around it", async () => {
  for (const egress of [
    { internetAccess: false, allowOut: [OTHER] },
    { internetAccess: true, denyOut: ["198.51.100.0/24"], allowOut: [`${OTHER}/32`] },
  ]) {
    const sandbox = await plugIn(egress);
    expect([egress, await reached(sandbox)]).toEqual([egress, [...REFUSED, ...REACHED]]);
    await unplug(sandbox);
  }
});

test("an allow list opens nothing that is closed to every sandbox", async () => {
  const neighbour = await plugIn({ internetAccess: true });
  const theirs = await neighbour.standIn.inside(() => greet(neighbour.lease.address, PORT));
  const closed = [...FORBIDDEN, MACHINE, HOST_ADDRESS, GATEWAY, neighbour.lease.address];
  for (const allowOut of [closed, ["0.0.0.0/1", "128.0.0.0/2", "192.0.0.0/2"], ["0.0.0.0/0"]]) {
    const sandbox = await plugIn({ internetAccess: false, denyOut: ["0.0.0.0/0"], allowOut: [...allowOut, PUBLIC] });
    const tries = [PUBLIC, ...closed].map(async (host) => [host, await sandbox.standIn.inside(() => tryTcp(host, PORT, WAIT_MS))]);
    expect(await Promise.all(tries)).toEqual([[PUBLIC, OPEN], ...closed.map((host) => [host, "refused"])]);
    await unplug(sandbox);
  }
  expect(await tryTcp(neighbour.lease.address, PORT, WAIT_MS)).toBe(`hello ${HOST_ADDRESS}`);
  theirs.stop();
  await unplug(neighbour);
});

test("a sandbox with lists is reached by the server, and sends under its own address only", async () => {
  const sandbox = await plugIn({ internetAccess: false, allowOut: [PUBLIC] });
  const greeter = await sandbox.standIn.inside(() => greet(sandbox.lease.address, PORT));
  expect(await tryTcp(sandbox.lease.address, PORT, WAIT_MS)).toBe(`hello ${HOST_ADDRESS}`);
  greeter.stop();
  // A sandbox cannot use the list of another one: the address selects the list, and it is tied to the link.
  const other = await plugIn({ internetAccess: false, allowOut: [OTHER] });
  await other.standIn.run("ip", "addr", "add", `${sandbox.lease.address}/32`, "dev", "eth0");
  await other.standIn.run("ip", "route", "replace", "default", "via", GATEWAY, "dev", "eth0", "src", sandbox.lease.address, "onlink");
  expect(await other.standIn.inside(() => tryTcp(PUBLIC, PORT))).toBe("silence");
  for (const one of [sandbox, other]) await unplug(one);
});

test("a change holds for open connections, and leaves nothing of what it replaced", async () => {
  const sandbox = await plugIn({ internetAccess: true });
  const { lease, standIn } = sandbox;
  expect(await chainOf(sandbox)).toBeUndefined();
  const events: string[] = [];
  const connection = await standIn.inside(() =>
    Bun.connect({
      hostname: PUBLIC,
      port: PORT,
      socket: { data: () => void events.push("greeted"), error: () => void events.push("cut"), close: () => void events.push("cut") },
    }),
  );
  await eventually("the connection is there", () => events.includes("greeted"));
  await networks.change(lease, { internetAccess: true, denyOut: [PUBLIC] });
  connection.write("more");
  await eventually("the connection is cut", () => events.includes("cut"));
  const first = await chainOf(sandbox);
  await networks.change(lease, { internetAccess: true, denyOut: [OTHER] });
  expect(await reached(sandbox)).toEqual([...REACHED, ...REFUSED]);
  expect(await inRouter("nft", "list", "table", "inet", "boxyard_0000eeee_lists")).not.toContain(first ?? "?");
  await networks.change(lease, { internetAccess: false });
  expect([await reached(sandbox), await chainOf(sandbox)]).toEqual([[...REFUSED, ...REFUSED], undefined]);
  await networks.change(lease, { internetAccess: true });
  expect(await reached(sandbox)).toEqual([...REACHED, ...REACHED]);
  await networks.change(lease, { internetAccess: true, denyOut: [PUBLIC] });
  await unplug(sandbox);
  expect(await chainOf(sandbox)).toBeUndefined();
});

test("lists stay in force while the server restarts, also with other rules, and lists of ended sandboxes are removed", async () => {
  const stays = await plugIn({ internetAccess: true, denyOut: [PUBLIC] });
  const ends = await plugIn({ internetAccess: true, denyOut: [OTHER] });
  const chain = await chainOf(stays);
  await networks.close();
  await ends.standIn.end();
  await eventually("the link is gone", async () => !(await inRouter("ip", "-o", "link")).includes(ends.lease.link));
  expect(await reached(stays)).toEqual([...REFUSED, ...REACHED]);
  await inRouter("nft", "delete", "table", "inet", "boxyard_0000eeee");
  networks = await open();
  expect(await reached(stays)).toEqual([...REFUSED, ...REACHED]);
  expect([await chainOf(stays), await chainOf(ends)]).toEqual([chain, undefined]);
  networks.adopt([stays.lease]);
  await networks.change(stays.lease, { internetAccess: true, denyOut: [PUBLIC] });
  expect([await chainOf(stays), await reached(stays)]).toEqual([chain, [...REFUSED, ...REACHED]]);
  await unplug(stays);
});

test("a lists table that another program deletes closes its sandboxes until the server restores it", async () => {
  const sandbox = await plugIn({ internetAccess: true, denyOut: [PUBLIC] });
  const neighbour = await plugIn({ internetAccess: true });
  await inRouter("nft", "delete", "table", "inet", "boxyard_0000eeee_lists");
  // Whether or not the list has been restored yet: a denied address is never open.
  expect((await reached(sandbox)).slice(0, 2)).toEqual(REFUSED);
  expect(await reached(neighbour)).toEqual([...REACHED, ...REACHED]);
  const isBack = async () => (await reached(sandbox)).slice(2).every((said) => said === OPEN);
  await eventually("the list is back", isBack, { withinMs: 40_000 });
  expect((await reached(sandbox)).slice(0, 2)).toEqual(REFUSED);
  for (const one of [sandbox, neighbour]) await unplug(one);
}, 60_000);

test("a list that the server does not know, as after an nft that was killed after its commit, is replaced and removed", async () => {
  const sandbox = await plugIn({ internetAccess: true, denyOut: [PUBLIC] });
  const { lease } = sandbox;
  const [table, known, other] = ["inet boxyard_0000eeee_lists", await chainOf(sandbox), `${lease.link}_other`];
  const swap = [
    ...[`delete element ${table} lists { ${lease.address} }`, `delete chain ${table} ${known}`, `delete set ${table} ${known}`],
    ...[`add set ${table} ${other} { type ipv4_addr; }`, `add chain ${table} ${other}`],
    `add element ${table} lists { ${lease.address} : goto ${other} }`,
  ];
  expect(await inRouter("nft", swap.join("; "))).toBe("");
  const egress = { internetAccess: true, denyOut: [OTHER] };
  const isChanged = () =>
    networks.change(lease, egress).then(
      () => true,
      () => false,
    );
  await eventually("it is replaced", isChanged);
  expect(await reached(sandbox)).toEqual([...REACHED, ...REFUSED]);
  await unplug(sandbox);
  expect(await chainOf(sandbox)).toBeUndefined();
});

test("a list of which an element was deleted by hand closes the sandbox, and can be replaced and removed", async () => {
  const table = "inet boxyard_0000eeee_lists";
  const sandbox = await plugIn({ internetAccess: true, denyOut: [PUBLIC] });
  const neighbour = await plugIn({ internetAccess: true, denyOut: [OTHER] });
  const deleteElement = async () =>
    expect(await inRouter("nft", "delete", "element", ...table.split(" "), `lists { ${sandbox.lease.address} }`)).toBe("");
  await deleteElement();
  expect(await reached(sandbox)).toEqual([...REFUSED, ...REFUSED]);
  await networks.change(sandbox.lease, { internetAccess: true, denyOut: [OTHER] });
  expect(await reached(sandbox)).toEqual([...REACHED, ...REFUSED]);
  await deleteElement();
  await unplug(sandbox);
  expect(await chainOf(sandbox)).toBeUndefined();
  expect(await reached(neighbour)).toEqual([...REACHED, ...REFUSED]);
  await unplug(neighbour);
});

test("lists may have the documented number of entries, and a reconnected link has its list again", async () => {
  const denyOut = Array.from({ length: MAX_EGRESS_ENTRIES - 1 }, (_, i) => `20.${i}.0.0/17`);
  const allowOut = Array.from({ length: MAX_EGRESS_ENTRIES }, (_, i) => `20.${i}.1.1`);
  const egress = { internetAccess: true, allowOut, denyOut: [...denyOut, PUBLIC] };
  const sandbox = await plugIn(egress);
  expect(await reached(sandbox)).toEqual([...REFUSED, ...REACHED]);
  networks.disconnect(sandbox.lease);
  const lease = networks.renew(sandbox.lease, 2);
  await networks.reconnect(lease, egress);
  expect(await reached(sandbox)).toEqual([...REFUSED, ...REACHED]);
  await unplug({ ...sandbox, lease });
  expect(await inRouter("nft", "list", "table", "inet", "boxyard_0000eeee_lists")).not.toContain("elements");
});

test("concurrent changes of many sandboxes all take effect", async () => {
  const sandboxes = await Promise.all(Array.from({ length: 12 }, () => plugIn({ internetAccess: true })));
  const deny = (i: number): EgressPolicy => ({ internetAccess: true, denyOut: [i % 2 ? PUBLIC : OTHER] });
  await Promise.all(sandboxes.map(({ lease }, i) => networks.change(lease, deny(i))));
  for (const [i, sandbox] of sandboxes.entries())
    expect([i, await reached(sandbox)]).toEqual([i, i % 2 ? [...REFUSED, ...REACHED] : [...REACHED, ...REFUSED]]);
  await Promise.all(sandboxes.map(unplug));
}, 30_000);
