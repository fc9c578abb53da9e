import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { silentLogger } from "@boxyard/core/node";
import { type EgressPolicy, type UpstreamProxy, withoutEdge } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { EdgeAuthority, edgeCertificate } from "./edge-authority/authority.ts";
import { type Lab, MACHINE, openLab, PUBLIC } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { type Plugged, plugIn as plugInto } from "./lab/plug-in.ts";
import { type Greeter, greet, tryTcp, tryUdp } from "./lab/traffic.ts";
import { type LabProxy, type LabProxyOptions, startLabProxy } from "./lab/upstream-proxy.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** Traffic of sandboxes through a proxy outside. Servers outside see by the address of a connection whether it came by the proxy. */

const INSTANCE = "0000dddd";
const GATEWAY = "10.223.0.1";
const UPSTREAM = "127.0.0.53";
/** Where the proxies of the test are, and a private address with one. */
const PROXIES = "198.51.100.20";
const PRIVATE = "10.1.2.3";
const WAIT_MS = 10_000;
const PORT = { socks: 1080, signed: 1081, http: 3128, tls: 3129, down: 1082 } as const;
const SIGNED = { username: "user", password: "pass word" };
/** A server's name that only the proxy resolves to its server. */
const REMOTE = "remote.example";

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let greeter: Greeter;
let trusted: string;
const servers: { stop(force?: boolean): unknown }[] = [];
const proxies: Record<string, LabProxy> = {};

const open = () =>
  openNetwork({
    instance: INSTANCE,
    network: "10.223.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
    trust: () => trusted,
  });

const through = (proxy: Partial<UpstreamProxy> = {}, policy: Partial<EgressPolicy> = {}): EgressPolicy => ({
  internetAccess: true,
  ...policy,
  isProxied: true,
  edge: { hosts: [], ...policy.edge, proxy: { protocol: "socks5", host: "proxy.example", port: PORT.socks, ...proxy } },
});
const NAMED: Partial<EgressPolicy> = { internetAccess: false, denyOut: ["0.0.0.0/0"], allowOut: ["api.example", REMOTE] };

async function startProxies(outside: EdgeAuthority): Promise<void> {
  const { cert, key } = await outside.leaf("proxy.example");
  const files = { cert: `${lab.directory}/proxy.pem`, key: `${lab.directory}/proxy.key` };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  const start = async (name: string, options: Partial<LabProxyOptions> & { port: number }) => {
    const led = { [REMOTE]: PUBLIC, "api.example": PUBLIC };
    proxies[name] = await startLabProxy(lab.outside, { protocol: "socks5", address: PROXIES, names: led, ...options });
  };
  await start("socks", { port: PORT.socks });
  await start("signed", { port: PORT.signed, ...SIGNED });
  await start("http", { port: PORT.http, protocol: "http", ...SIGNED });
  await start("tls", { port: PORT.tls, ...files });
  await start("private", { port: PORT.socks, address: PRIVATE });
}

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  for (const [name, address] of [
    ["api.example", PUBLIC],
    ["proxy.example", PROXIES],
    ["private.example", PRIVATE],
    ["gateway.example", GATEWAY],
    ["machine.example", MACHINE],
  ] as const)
    names.addresses.set(name, address);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  networks = await open();
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(PROXIES) ?? 0, 1));
    netlink.close();
  });
  const tls = await Promise.all(["api.example", REMOTE].map(async (serverName) => ({ ...(await outside.leaf(serverName)), serverName })));
  const fetch = (request: Request, server: Bun.Server<unknown>) => {
    const from = server.requestIP(request)?.address === MACHINE ? "direct" : "proxied";
    if (new URL(request.url).pathname === "/large") return new Response(new Uint8Array(16 << 20));
    return new Response(`${from} ${request.headers.get("host")} ${request.headers.get("x-added")}`);
  };
  inNetworkNamespace(lab.outside, () => {
    servers.push(Bun.serve({ hostname: PUBLIC, port: 443, fetch, tls }), Bun.serve({ hostname: PUBLIC, port: 80, fetch }));
  });
  greeter = await inNetworkNamespace(lab.outside, () => greet(PUBLIC, 8080));
  servers.push(await inNetworkNamespace(lab.outside, () => greet(PRIVATE, 8080)));
  await startProxies(outside);
  writeFileSync(`${lab.directory}/both.pem`, edgeCertificate(`${lab.directory}/state`) + trusted);
});

afterAll(async () => {
  for (const proxy of Object.values(proxies)) await proxy.stop();
  for (const server of servers) await server.stop(true);
  greeter?.stop();
  names?.stop();
  await networks?.release();
  await lab?.end();
});

const plugIn = (egress: EgressPolicy): Promise<Plugged> => plugInto(lab, networks, egress);

async function unplug({ standIn, lease }: Plugged): Promise<void> {
  await standIn.end();
  await networks.detach(lease);
}

async function curl({ standIn }: Plugged, url: string, ...more: string[]): Promise<string> {
  const { hostname, protocol } = new URL(url);
  const at = `${hostname}:${protocol === "https:" ? 443 : 80}:${PUBLIC}`;
  const args = ["--silent", "--cacert", `${lab.directory}/both.pem`, "--max-time", "20", "--resolve", at, ...more, url];
  return (await standIn.run("curl", ...args)) || "failed";
}

/** What the greeter says on another port than those of HTTP, where the server speaks first. */
const greeting = async ({ standIn }: Plugged, address = PUBLIC): Promise<string> => {
  const said = await standIn.inside(() => tryTcp(address, 8080, WAIT_MS));
  if (said === `hello ${MACHINE}`) return "direct";
  return said.startsWith("hello ") ? "proxied" : "failed";
};

/** What a sandbox with this policy gets on an open port, by HTTPS and by HTTP. */
async function reached(policy: EgressPolicy): Promise<string[]> {
  const sandbox = await plugIn(policy);
  const got = await Promise.all([greeting(sandbox), curl(sandbox, "https://api.example/"), curl(sandbox, "http://api.example/")]);
  await unplug(sandbox);
  return got.map((text) => text.split(" ")[0] as string);
}

const ALL = (what: string) => [what, what, what];

test("all TCP of a sandbox goes through its proxy: SOCKS5 and CONNECT, with a password, and by TLS to the proxy", async () => {
  expect(await reached({ internetAccess: true })).toEqual(ALL("direct"));
  for (const proxy of [
    {},
    { host: PROXIES },
    { port: PORT.signed, ...SIGNED },
    { protocol: "http" as const, port: PORT.http, ...SIGNED },
    { port: PORT.tls, tls: { serverName: "proxy.example" } },
    { port: PORT.tls, tls: { serverName: "proxy.example", caCert: trusted } },
  ])
    expect([proxy, await reached(through(proxy))]).toEqual([proxy, ALL("proxied")]);
  expect(new Set(proxies.signed?.asked)).toEqual(new Set([`${PUBLIC}:8080`, `${PUBLIC}:443`, `${PUBLIC}:80`]));
});

test("a proxy that refuses, is not there, is not who it should be, or is where no sandbox may go, closes the sandbox", async () => {
  const useless = [
    { port: PORT.down },
    { port: PORT.signed },
    { port: PORT.signed, ...SIGNED, password: "other" },
    { protocol: "http" as const, port: PORT.http },
    { port: PORT.tls },
    { port: PORT.tls, tls: { serverName: "other.example" } },
    { port: PORT.tls, tls: { serverName: "proxy.example", caCert: edgeCertificate(`${lab.directory}/state`) } },
    { host: "private.example" },
    { host: "gateway.example", port: 53 },
    { host: "machine.example" },
  ];
  const got = await Promise.all(useless.map(async (proxy) => [proxy, await reached(through(proxy))]));
  expect(got).toEqual(useless.map((proxy) => [proxy, ALL("failed")]));
  expect(proxies.private?.asked).toEqual([]);
}, 120_000);

test("what the policy denies stays denied, and the proxy is not asked for it; nothing but TCP leaves", async () => {
  const asked = proxies.socks?.asked as string[];
  const before = asked.length;
  const sandbox = await plugIn(through());
  expect(await greeting(sandbox, PRIVATE)).toBe("failed");
  expect(await sandbox.standIn.inside(() => tryUdp(PUBLIC, 8080, "hello", WAIT_MS))).toBe("refused");
  await networks.change(sandbox.lease, through({}, { denyOut: [PUBLIC] }));
  expect([await greeting(sandbox), await curl(sandbox, "https://api.example/")]).toEqual(["failed", "failed"]);
  await networks.change(sandbox.lease, through({}, { internetAccess: false }));
  expect([await greeting(sandbox), await curl(sandbox, "http://api.example/")]).toEqual(["failed", "failed"]);
  expect(asked.slice(before)).toEqual([]);
  await unplug(sandbox);
});

test("a name that is allowed is resolved by the proxy; others are refused here", async () => {
  const asked = proxies.socks?.asked as string[];
  const before = asked.length;
  const sandbox = await plugIn(through({}, NAMED));
  for (const scheme of ["https", "http"]) {
    expect(await curl(sandbox, `${scheme}://${REMOTE}/`)).toBe(`proxied ${REMOTE} null`);
    expect(await curl(sandbox, `${scheme}://denied.example/`)).toBe("failed");
  }
  expect(await greeting(sandbox)).toBe("failed");
  expect(asked.slice(before)).toEqual([`${REMOTE}:443`, `${REMOTE}:80`]);
  await unplug(sandbox);
});

test("rules for requests hold behind a proxy, where the server's certificate is verified through it", async () => {
  for (const host of ["api.example", REMOTE]) {
    const edge = { hosts: [{ host, headers: { "X-Added": "one" } }] };
    const sandbox = await plugIn(through({ port: PORT.tls, tls: { serverName: "proxy.example" } }, { ...NAMED, edge }));
    expect(await curl(sandbox, `https://${host}/`)).toBe(`proxied ${host} one`);
    const size = ["--output", "/dev/null", "--write-out", "%{size_download} "];
    expect(await curl(sandbox, `https://${host}/large`, ...size)).toBe(`${16 << 20} `);
    await networks.change(sandbox.lease, through({ port: PORT.down }, { ...NAMED, edge }));
    expect(await curl(sandbox, `https://${host}/`)).toContain("can't be reached");
    await unplug(sandbox);
  }
});

/** Opens a connection to the greeter, makes a file when it is greeted, and says after the end of the connection how that came. */
const stay = (file: string) => `import socket
s = socket.create_connection(("${PUBLIC}", 8080), 30)
s.recv(5)
open("${file}", "w").close()
s.settimeout(60)
try:
  while s.recv(99): pass
  print("ended")
except ConnectionError: print("ended")`;

test("a change takes open connections off the old proxy, and puts new ones on the new one", async () => {
  const sandbox = await plugIn(through());
  const file = `${lab.directory}/greeted`;
  const open = sandbox.standIn.run("python3", "-c", stay(file));
  await eventually("the connection is there", () => Bun.file(file).exists());
  await networks.change(sandbox.lease, through({ port: PORT.signed, ...SIGNED }));
  expect(await open).toBe("ended\n");
  expect(await greeting(sandbox)).toBe("proxied");
  await networks.change(sandbox.lease, { internetAccess: true });
  expect(await greeting(sandbox)).toBe("direct");
  await networks.change(sandbox.lease, through({ port: PORT.down }));
  expect(await greeting(sandbox)).toBe("failed");
  await unplug(sandbox);
});

test("a server that was started anew leaves a sandbox closed until it knows the proxy's password again", async () => {
  const policy = through({ port: PORT.signed, ...SIGNED });
  const sandbox = await plugIn(policy);
  expect(await greeting(sandbox)).toBe("proxied");
  await networks.close();
  expect(await greeting(sandbox)).toBe("failed");
  networks = await open();
  networks.adopt([sandbox.lease], () => withoutEdge(policy));
  expect([await greeting(sandbox), await curl(sandbox, "https://api.example/")]).toEqual(["failed", "failed"]);
  await networks.change(sandbox.lease, policy);
  expect(await greeting(sandbox)).toBe("proxied");
  await unplug(sandbox);
});
