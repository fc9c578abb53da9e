import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { EdgeAuthority, edgeCertificate } from "./edge-authority/authority.ts";
import { FORBIDDEN, type Lab, openLab, PUBLIC } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { type Plugged, plugIn as plugInto } from "./lab/plug-in.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** Attacks on the egress proxy from inside and from outside, beside those of `names` and `edge`. Each refused attempt has an allowed counterpart. */

const GATEWAY = "10.228.0.1";
const UPSTREAM = "127.0.0.53";
const [PRIVATE = ""] = FORBIDDEN;
/** Servers whose certificates are of a trusted authority, and for another name or of another time. */
const OTHER_NAME = "198.51.100.40";
const EXPIRED = "198.51.100.41";
/** The same with certificates that no trusted authority has signed for their names. */
const TRICKS = { self: "198.51.100.42", byleaf: "198.51.100.43", wide: "198.51.100.44" } as const;
const DAY_MS = 86_400_000;
const DENY_ALL: EgressPolicy = { internetAccess: false, denyOut: ["0.0.0.0/0"] };
const ALL_NAMES: EgressPolicy = { ...DENY_ALL, allowOut: ["*"] };

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let trusted: string;
const servers: { stop(force?: boolean): unknown }[] = [];
/** Requests that servers outside have got, as `address host`. */
const requests: string[] = [];

function serve(address: string, tls?: { cert: string; key: string }): void {
  const fetch = (request: Request) => {
    requests.push(`${address} ${request.headers.get("host")}`);
    return new Response(`${address} ${request.headers.get("host")}`);
  };
  const start = () => Bun.serve({ hostname: address, port: tls ? 443 : 80, idleTimeout: 60, fetch, ...(tls && { tls }) });
  servers.push(inNetworkNamespace(lab.outside, start));
}

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  for (const host of ["allowed.example", "denied.example", "moving.example"]) names.addresses.set(host, PUBLIC);
  names.addresses.set("other.edge.example", OTHER_NAME);
  names.addresses.set("expired.edge.example", EXPIRED);
  names.addresses.set("good.edge.example", PUBLIC);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  networks = await openNetwork({
    ...{ instance: "0000afaf", network: "10.228.0.0/16", logger: silentLogger, trust: () => trusted },
    ...{ stateDirectory: `${lab.directory}/state`, runDirectory: `${lab.directory}/run`, resolvConf: `${lab.directory}/resolv.conf` },
  });
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    for (const address of [OTHER_NAME, EXPIRED, ...Object.values(TRICKS)]) netlink.request(newAddress(parseAddress(address) ?? 0, 1));
    netlink.close();
  });
  const old = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", () => Date.now() - 400 * DAY_MS);
  for (const address of [PUBLIC, PRIVATE]) serve(address);
  serve(PUBLIC, await outside.leaf("good.edge.example"));
  serve(PRIVATE, await outside.leaf("moving.example"));
  serve(OTHER_NAME, await outside.leaf("another.example"));
  serve(EXPIRED, await old.leaf("expired.edge.example"));
  for (const [name, address] of Object.entries(TRICKS)) names.addresses.set(`${name}.edge.example`, address);
  serve(TRICKS.wide, await outside.leaf("*.example"));
  await serveForged(await outside.leaf("good.edge.example"));
});

/** Certificates that `openssl` makes: one that has signed itself, and one that a certificate has signed which is of no authority. */
async function serveForged(leaf: { cert: string; key: string }): Promise<void> {
  const at = (name: string) => `${lab.directory}/${name}.pem`;
  const openssl = async (...args: string[]) => {
    const run = Bun.spawn(["openssl", ...args], { stdout: "ignore", stderr: "pipe" });
    if ((await run.exited) !== 0) throw new Error(await new Response(run.stderr).text());
  };
  const made = (name: string) => ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at(`${name}-key`)];
  const named = (name: string) => ["-subj", `/CN=${name}.edge.example`, "-addext", `subjectAltName=DNS:${name}.edge.example`];
  const identity = async (name: string, chain = "") => ({
    cert: (await Bun.file(at(name)).text()) + chain,
    key: await Bun.file(at(`${name}-key`)).text(),
  });
  await openssl("req", "-x509", "-days", "2", ...made("self"), ...named("self"), "-out", at("self"));
  serve(TRICKS.self, await identity("self"));
  await Bun.write(at("leaf"), leaf.cert);
  await Bun.write(at("leaf-key"), leaf.key);
  await openssl("req", "-new", ...made("byleaf"), ...named("byleaf"), "-out", at("byleaf-request"));
  const signed = ["-days", "2", "-CA", at("leaf"), "-CAkey", at("leaf-key"), "-CAcreateserial", "-copy_extensions", "copy"];
  await openssl("x509", "-req", "-in", at("byleaf-request"), ...signed, "-out", at("byleaf"));
  serve(TRICKS.byleaf, await identity("byleaf", leaf.cert));
}

afterAll(async () => {
  for (const server of servers) await server.stop(true);
  names?.stop();
  await networks?.release();
  await lab?.end();
});

const plugIn = (egress: EgressPolicy): Promise<Plugged> => plugInto(lab, networks, egress);

async function curl({ standIn }: Plugged, url: string, ...more: string[]): Promise<string> {
  const { hostname } = new URL(url);
  const to = [80, 443].flatMap((port) => ["--resolve", `${hostname}:${port}:${PUBLIC}`]);
  return (await standIn.run("curl", "--silent", "--insecure", "--max-time", "10", ...to, ...more, url)) || "failed";
}

/** What comes back for bytes that are sent to port 80, up to the end of the connection. */
const send = ({ standIn }: Plugged, bytes: string) =>
  standIn.run(
    "python3",
    "-c",
    `import socket
s = socket.create_connection(("${PUBLIC}", 80), 10); s.settimeout(10)
try:
  s.sendall(${bytes})
  s.shutdown(socket.SHUT_WR)
  got = b""
  while True:
    more = s.recv(4096)
    if not more: break
    got += more
  print(got[:12].decode() or "closed")
except OSError: print("reset")`,
  );

test("an address is no name, in whatever notation a request has it", async () => {
  const sandbox = await plugIn(ALL_NAMES);
  const before = requests.length;
  const literals = [
    "10.1.2.3",
    "0x0a010203",
    "167838211",
    "012.1.2.3",
    "10.66051",
    "10.1.515",
    "0xa.1.2.3",
    "[::ffff:10.1.2.3]",
    "[::1]",
    "10.1.2.3.",
  ];
  for (const literal of literals) {
    expect([literal, await curl(sandbox, "http://allowed.example/", "-H", `Host: ${literal}`)]).toEqual([literal, "failed"]);
    const hello = ["openssl", "s_client", "-connect", `${PUBLIC}:443`, "-servername", literal.replace(/[[\]]/g, ""), "-brief"];
    expect([literal, await sandbox.standIn.run(...hello)]).toEqual([literal, expect.not.stringContaining("CONNECTION ESTABLISHED")]);
  }
  expect(requests.length).toBe(before);
  expect(await curl(sandbox, "http://allowed.example/")).toBe(`${PUBLIC} allowed.example`);
}, 60_000);

test("a name that moves to a private address later is refused from then on", async () => {
  const sandbox = await plugIn({ ...DENY_ALL, allowOut: ["moving.example"] });
  expect(await curl(sandbox, "http://moving.example/")).toBe(`${PUBLIC} moving.example`);
  names.addresses.set("moving.example", PRIVATE);
  // The answer holds for five seconds.
  await eventually("the name has moved", async () => (await curl(sandbox, "http://moving.example/")) === "failed");
  expect(await curl(sandbox, "https://moving.example/")).toBe("failed");
  expect(requests.filter((request) => request.startsWith(PRIVATE))).toEqual([]);
  names.addresses.set("moving.example", PUBLIC);
}, 60_000);

test("requests in plain HTTP that servers read in two ways, and heads without end, reach none", async () => {
  const sandbox = await plugIn({ ...DENY_ALL, allowOut: ["allowed.example"] });
  const head = "POST / HTTP/1.1\\r\\nHost: allowed.example\\r\\n";
  const before = requests.length;
  const hidden = "GET / HTTP/1.1\\r\\nHost: denied.example\\r\\n\\r\\n";
  for (const bytes of [
    `b"${head}Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n${hidden}"`,
    `b"${head}Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity\\r\\n\\r\\n0\\r\\n\\r\\n"`,
    `b"${head}Transfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\n"`,
    `b"${head}Content-Length: 4\\r\\nContent-Length: 0\\r\\n\\r\\n"`,
    `b"${head}Content-Length: +4\\r\\n\\r\\nabcd"`,
    `b"${head}Host: denied.example\\r\\n\\r\\n"`,
    `b"${head} X: folded\\r\\n\\r\\n"`,
    `b"POST http://denied.example/ HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n"`,
    `b"${head}A: " + b"x" * 200000 + b"\\r\\n\\r\\n"`,
    `b"${head}" + b"A: x\\r\\n" * 5000 + b"\\r\\n"`,
  ])
    expect([bytes, await send(sandbox, bytes)]).toEqual([bytes, expect.stringMatching(/^(reset|closed)\n$/)]);
  // What follows a whole request is decided by its own host.
  await send(sandbox, `b"${head}Content-Length: 0\\r\\n\\r\\n${hidden}"`);
  expect(requests.slice(before).filter((request) => request.includes("denied"))).toEqual([]);
  expect(requests.length - before).toBeLessThanOrEqual(1);
  expect(await curl(sandbox, "http://allowed.example/")).toBe(`${PUBLIC} allowed.example`);
}, 60_000);

test("a sandbox that opens connections and says nothing takes no other's place", async () => {
  const [silent, other] = [await plugIn(ALL_NAMES), await plugIn(ALL_NAMES)];
  const program = `import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
held, ended = [], 0
for port in [80, 443] * 400:
  try: held.append(socket.create_connection(("${PUBLIC}", port), 10))
  except OSError: ended += 1
for s in held: s.setblocking(False)
deadline = time.time() + 20
while len(held) > 512 and time.time() < deadline:
  for s in list(held):
    try:
      s.recv(1)
    except BlockingIOError: continue
    except OSError: pass
    held.remove(s)
print(0 < len(held) <= 512, flush=True)
time.sleep(5)`;
  const run = silent.standIn.run("python3", "-c", program);
  for (let i = 0; i < 10; i++) expect(await curl(other, "http://allowed.example/")).toBe(`${PUBLIC} allowed.example`);
  expect(await run).toBe("True\n");
}, 60_000);

test("a certificate for another name, of another time or that no authority signed for its name is none, though a trusted one is in its chain", async () => {
  const hosts = ["good", "other", "expired", ...Object.keys(TRICKS)].map((name) => `${name}.edge.example`);
  const edge = { hosts: hosts.map((host) => ({ host, headers: { "X-Token": "value" } })) };
  const sandbox = await plugIn({ ...DENY_ALL, allowOut: ["*.edge.example"], edge });
  const before = requests.length;
  for (const host of hosts.slice(1))
    expect([host, await curl(sandbox, `https://${host}/`)]).toEqual([
      host,
      expect.stringContaining("has no certificate that this machine trusts"),
    ]);
  expect(requests.length).toBe(before);
  expect(await curl(sandbox, "https://good.edge.example/")).toBe(`${PUBLIC} good.edge.example`);
});

test("a proxy that is killed, and one that is stopped, under load lets nothing by that is denied", async () => {
  const sandbox = await plugIn({ ...DENY_ALL, allowOut: ["allowed.example"] });
  const before = requests.length;
  const stop = `${lab.directory}/stop`;
  const loop = (host: string) =>
    `while [ ! -e ${stop} ]; do curl -s --max-time 1 --resolve ${host}:80:${PUBLIC} http://${host}/ && echo; done`;
  const loads = ["allowed", "denied", "allowed", "denied"].map((name) => sandbox.standIn.run("sh", "-c", loop(`${name}.example`)));
  const served = () => requests.slice(before).length;
  const goesOn = async (what: string) => {
    const now = served();
    await eventually(what, () => served() > now + 5, { withinMs: 60_000 });
  };
  const proxy = async () => {
    const find = Bun.spawn(["pgrep", "-f", `egress-proxy.*${GATEWAY}`], { stdout: "pipe" });
    return Number((await new Response(find.stdout).text()).split("\n")[0]);
  };
  await goesOn("the load is served");
  for (let round = 0; round < 2; round++) {
    process.kill(await proxy(), "SIGKILL");
    await goesOn("the next proxy serves the load");
  }
  process.kill(await proxy(), "SIGSTOP");
  await expect(networks.change(sandbox.lease, { ...DENY_ALL, allowOut: ["allowed.example", "x.example"] })).rejects.toMatchObject({
    reason: "egress_proxy",
  });
  await goesOn("the proxy after a stopped one serves the load");
  writeFileSync(stop, "");
  await Promise.all(loads);
  expect(requests.slice(before).filter((request) => request !== `${PUBLIC} allowed.example`)).toEqual([]);
}, 120_000);
