import { afterAll, beforeAll, expect, test } from "bun:test";
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { EdgeAuthority, edgeCertificate } from "./edge-authority/authority.ts";
import { type Lab, openLab, PUBLIC } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { type Plugged, plugIn as plugInto } from "./lab/plug-in.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** Rules for requests: where TLS is opened, where not, and what requests get. The servers of the outside have certificates of an authority of the test. */

const INSTANCE = "0000eeee";
const GATEWAY = "10.222.0.1";
const UPSTREAM = "127.0.0.53";
/** A server with a certificate that nobody trusts. */
const EVIL = "198.51.100.9";
const HOSTS = ["api.example", "other.example", "deep.wild.example", "x.deep.wild.example"];
const headers = (value: string) => ({ "X-Added": value });
const edge = (...hosts: [string, string][]) => ({ hosts: hosts.map(([host, value]) => ({ host, headers: headers(value) })) });
const OPEN: EgressPolicy = {
  internetAccess: true,
  edge: edge(["api.example", "one"], ["*.wild.example", "wild"], ["*.deep.wild.example", "deep"]),
};
const NAMED: EgressPolicy = { ...OPEN, internetAccess: false, denyOut: ["0.0.0.0/0"], allowOut: ["api.example"] };

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let trusted: string;
const servers: { stop(force?: boolean): unknown }[] = [];
/** How often a client has connected to a server outside. */
let requests = 0;

const open = () =>
  openNetwork({
    instance: INSTANCE,
    network: "10.222.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
    trust: () => trusted,
  });

async function answer(request: Request): Promise<Response> {
  requests += 1;
  const { pathname } = new URL(request.url);
  if (pathname === "/upload") return new Response(`${(await request.arrayBuffer()).byteLength} ${request.headers.get("x-added")}`);
  if (pathname === "/large") return new Response(new Uint8Array(64 << 20));
  if (pathname === "/echo") {
    const told = Object.fromEntries(request.headers);
    const bytes = Buffer.from(`${request.url} ${JSON.stringify(told)} ${told.authorization ? btoa(told.authorization) : ""}`);
    const coding = request.headers.get("x-coding");
    const body = coding ? Bun.gzipSync(bytes) : bytes;
    // In small pieces, so that a secret is in none of them whole.
    const pieces = new ReadableStream({
      start(stream) {
        for (let at = 0; at < body.byteLength; at += 5) stream.enqueue(body.subarray(at, at + 5));
        stream.close();
      },
    });
    const shown = { "x-shown": told.authorization ?? "", ...(coding && { "content-encoding": coding }) };
    return new Response(request.headers.has("x-sized") ? bytes : pieces, { headers: shown });
  }
  if (pathname === "/events")
    return new Response(
      new ReadableStream({
        start: (stream) => stream.enqueue("data: first\n\n"),
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  return new Response(`${request.headers.get("host")} ${request.headers.get("x-added")} ${request.headers.get("x-own")}`);
}

function serve(address: string, tls: { cert: string; key: string }[], names: string[]): void {
  const start = () =>
    Bun.serve({
      hostname: address,
      port: 443,
      idleTimeout: 60,
      fetch: answer,
      tls: tls.map((one, i) => ({ ...one, serverName: names[i] as string })),
    });
  servers.push(inNetworkNamespace(lab.outside, start));
}

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  for (const name of HOSTS) names.addresses.set(name, PUBLIC);
  names.addresses.set("untrusted.wild.example", EVIL);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  const stranger = await EdgeAuthority.open(`${lab.directory}/stranger`, "A stranger", Date.now);
  networks = await open();
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(EVIL) ?? 0, 1));
    netlink.close();
  });
  serve(PUBLIC, await Promise.all(HOSTS.map((host) => outside.leaf(host))), HOSTS);
  serve(EVIL, [await stranger.leaf("untrusted.wild.example")], ["untrusted.wild.example"]);
  writeFileSync(`${lab.directory}/inside.pem`, edgeCertificate(`${lab.directory}/state`));
  writeFileSync(`${lab.directory}/both.pem`, edgeCertificate(`${lab.directory}/state`) + trusted);
});

afterAll(async () => {
  for (const server of servers) await server.stop(true);
  names?.stop();
  await networks?.release();
  await lab?.end();
});

const plugIn = (egress: EgressPolicy): Promise<Plugged> => plugInto(lab, networks, egress);

async function unplug({ standIn, lease }: Plugged): Promise<void> {
  await standIn.end();
  await networks.detach(lease);
}

/** What `curl` gets of a URL whose host is at this address for it; it trusts the authorities of this file. */
async function curl({ standIn }: Plugged, url: string, { ca = "both", address = PUBLIC, more = [] as string[] } = {}): Promise<string> {
  const to = ["--resolve", `${new URL(url).hostname}:443:${address}`, "--cacert", `${lab.directory}/${ca}.pem`];
  return (await standIn.run("curl", "--silent", "--show-error", "--max-time", "20", ...to, ...more, url)) || "nothing";
}

test("requests to hosts with rules get their fields, in place of the sandbox's own; the most exact host decides", async () => {
  for (const policy of [OPEN, { ...NAMED, allowOut: ["*"] }]) {
    const sandbox = await plugIn(policy);
    expect(await curl(sandbox, "https://api.example/", { ca: "inside" })).toBe("api.example one null");
    expect(await curl(sandbox, "https://API.example/", { more: ["-H", "x-added: mine", "-H", "x-own: kept"] })).toBe(
      "API.example one kept",
    );
    expect(await curl(sandbox, "https://deep.wild.example/", { ca: "inside" })).toBe("deep.wild.example wild null");
    expect(await curl(sandbox, "https://x.deep.wild.example/", { ca: "inside" })).toBe("x.deep.wild.example deep null");
    await unplug(sandbox);
  }
});

test("TLS of other hosts stays between sandbox and server", async () => {
  const sandbox = await plugIn(OPEN);
  expect(await curl(sandbox, "https://other.example/", { ca: "inside" })).toContain("certificate");
  expect(await curl(sandbox, "https://other.example/")).toBe("other.example null null");
  await unplug(sandbox);
});

test("rules open no way by themselves", async () => {
  const sandbox = await plugIn(NAMED);
  expect(await curl(sandbox, "https://api.example/")).toBe("api.example one null");
  for (const host of ["deep.wild.example", "other.example"]) expect(await curl(sandbox, `https://${host}/`)).toContain("curl: (");
  await networks.change(sandbox.lease, { ...OPEN, denyOut: [PUBLIC] });
  expect(await curl(sandbox, "https://api.example/")).toContain("curl: (");
  expect(await curl(sandbox, "https://api.example/", { address: EVIL })).toMatch(/^Boxyard: api.example can't be reached/);
  await networks.change(sandbox.lease, { internetAccess: false, ...(OPEN.edge && { edge: OPEN.edge }) });
  expect(await curl(sandbox, "https://api.example/")).toContain("curl: (");
  await unplug(sandbox);
});

test("a server that the machine does not trust gets no request", async () => {
  const sandbox = await plugIn(OPEN);
  const before = requests;
  const told = await curl(sandbox, "https://untrusted.wild.example/", { address: EVIL });
  expect(told).toBe("Boxyard: untrusted.wild.example can't be reached, or has no certificate that this machine trusts\n");
  // The sandbox's own idea of the address does not decide.
  expect(await curl(sandbox, "https://api.example/", { address: EVIL })).toBe("api.example one null");
  expect(requests).toBe(before + 1);
  await unplug(sandbox);
});

test("a request for another host than that of its connection is refused", async () => {
  const sandbox = await plugIn(OPEN);
  for (const host of ["other.example", "deep.wild.example", "api.example:444"])
    expect(await curl(sandbox, "https://api.example/", { more: ["-H", `Host: ${host}`] })).toMatch(
      /^Boxyard: the Host of this request is not/,
    );
  expect(await curl(sandbox, "https://api.example/", { more: ["-H", "Host: api.example:443"] })).toBe("api.example:443 one null");
  await unplug(sandbox);
});

test("large bodies pass whole both ways, also to a reader that is slow, and streams pass as they come", async () => {
  const sandbox = await plugIn(OPEN);
  writeFileSync(`${lab.directory}/body`, Buffer.alloc(20 << 20, 7));
  const upload = ["--data-binary", `@${lab.directory}/body`];
  expect(await curl(sandbox, "https://api.example/upload", { more: upload })).toBe(`${20 << 20} one`);
  expect(await curl(sandbox, "https://api.example/upload", { more: [...upload, "-H", "Transfer-Encoding: chunked"] })).toBe(
    `${20 << 20} one`,
  );
  const size = ["--output", "/dev/null", "--write-out", "%{size_download}"];
  expect(await curl(sandbox, "https://api.example/large", { more: size })).toBe(String(64 << 20));
  expect(await curl(sandbox, "https://api.example/large", { more: [...size, "--limit-rate", "20M"] })).toBe(String(64 << 20));
  const file = `${lab.directory}/events`;
  const events = curl(sandbox, "https://api.example/events", { more: ["--no-buffer", "--output", file] });
  const begun = async () =>
    (await Bun.file(file)
      .text()
      .catch(() => "")) === "data: first\n\n";
  await eventually("the first event arrives", begun);
  await networks.change(sandbox.lease, { internetAccess: true });
  expect(await events).toContain("curl: (");
  await unplug(sandbox);
});

test("a change holds for open connections at once", async () => {
  const sandbox = await plugIn(OPEN);
  const program = `import http.client,ssl,sys
context = ssl.create_default_context(cafile="${lab.directory}/both.pem")
class Connection(http.client.HTTPSConnection):
  def connect(self):
    import socket
    self.sock = context.wrap_socket(socket.create_connection(("${PUBLIC}", 443), 10), server_hostname="api.example")
connection = Connection("api.example", timeout=10)
for line in sys.stdin:
  try:
    connection.request("GET", "/")
    print(connection.getresponse().read().decode(), flush=True)
  except OSError as error:
    print("ended", flush=True)
    connection.close()
`;
  const fifo = `${lab.directory}/fifo`;
  const out = `${lab.directory}/answers`;
  await Bun.$`mkfifo ${fifo}`.quiet();
  writeFileSync(`${lab.directory}/client.py`, program);
  const done = sandbox.standIn.run("sh", "-c", `exec python3 ${lab.directory}/client.py < ${fifo} > ${out}`);
  const ask = openSync(fifo, "r+");
  const lines: string[] = [];
  const next = async (expected: string) => {
    writeSync(ask, "\n");
    lines.push(expected);
    await eventually(`the answer ${lines.length}`, async () => {
      const text = await Bun.file(out)
        .text()
        .catch(() => "");
      return text.split("\n").length > lines.length;
    });
  };
  await next("api.example one null");
  await networks.change(sandbox.lease, { ...OPEN, edge: edge(["api.example", "two"]) });
  await next("api.example two null");
  await networks.change(sandbox.lease, { internetAccess: true });
  await next("ended");
  await next("api.example null null");
  closeSync(ask);
  await done;
  expect(await Bun.file(out).text()).toBe(`${lines.join("\n")}\n`);
  await unplug(sandbox);
});

test("after a restart the sandbox is closed until its rules are given, for no request may go without them", async () => {
  const sandbox = await plugIn(OPEN);
  await networks.close();
  networks = await open();
  const withheld: EgressPolicy = { internetAccess: true, edge: { hosts: [], isWithheld: true } };
  networks.adopt([sandbox.lease], () => withheld);
  expect(await curl(sandbox, "https://api.example/")).toContain("curl: (");
  await networks.change(sandbox.lease, OPEN);
  expect(await curl(sandbox, "https://api.example/")).toBe("api.example one null");
  // From a record on disk comes a policy without its rules; those of the same lease still hold.
  await networks.change(sandbox.lease, withheld);
  expect(await curl(sandbox, "https://api.example/")).toBe("api.example one null");
  await unplug(sandbox);
});

test("a killed proxy lets nothing by, and the next one opens TLS again", async () => {
  const sandbox = await plugIn(OPEN);
  expect(await curl(sandbox, "https://api.example/")).toBe("api.example one null");
  const find = Bun.spawn(["pgrep", "-f", `egress-proxy.*${GATEWAY}`], { stdout: "pipe" });
  const [pid] = (await new Response(find.stdout).text()).split("\n").filter(Boolean).map(Number);
  process.kill(pid as number, "SIGKILL");
  const first = await curl(sandbox, "https://other.example/");
  expect(["other.example null null", expect.stringContaining("curl: (")]).toContainEqual(first);
  await eventually("another proxy serves", async () => (await curl(sandbox, "https://api.example/")) === "api.example one null");
  await unplug(sandbox);
});

const TOKEN = "token-of-the-team/0123456789+abc";
const HELD = "boxyard.token.secret";
const attached = (secret: object = {}): EgressPolicy => ({
  internetAccess: true,
  edge: { hosts: [], secrets: [{ placeholder: HELD, value: TOKEN, hosts: ["api.example"], ...secret }] },
});

test("a secret is put into requests to its hosts, and no answer brings it inside", async () => {
  const sandbox = await plugIn(attached());
  const bearer = ["-H", `Authorization: Bearer ${HELD}`];
  const basic = ["--user", `name:${HELD}`];
  for (const more of [
    bearer,
    [...bearer, "-H", "x-sized: 1"],
    [...bearer, "-H", "Range: bytes=0-40"],
    [...basic, "--include"],
    [...bearer, "--include", "-H", "Connection: close"],
  ]) {
    const answer = await curl(sandbox, `https://api.example/echo?key=${HELD}`, { more });
    expect([more, answer.includes("[masked]"), answer.includes('accept-encoding":"identity')]).toEqual([more, true, true]);
    for (const form of [TOKEN, encodeURIComponent(TOKEN), btoa(`name:${TOKEN}`).slice(0, -4), HELD]) expect(answer).not.toContain(form);
  }
  expect(await curl(sandbox, "https://api.example/echo", { more: [...bearer, "-H", "x-coding: gzip"] })).toContain("curl: (");
  expect(await curl(sandbox, "https://api.example/echo", { more: [...bearer, "-X", "TRACE"] })).toContain("Boxyard: TRACE");
  // Another host gets what the sandbox holds.
  expect(await curl(sandbox, "https://other.example/echo", { more: bearer })).toContain(HELD);
  await unplug(sandbox);
});

test("a secret is put in for its methods and paths alone, and a change of it holds for the next request", async () => {
  const sandbox = await plugIn(attached({ methods: ["GET"], paths: ["/echo", "/v1/*"] }));
  const more = ["-H", `Authorization: Bearer ${HELD}`];
  const sees = async (path: string, ...others: string[]) =>
    (await curl(sandbox, `https://api.example${path}`, { more: [...more, ...others, "--path-as-is"] })).includes(HELD);
  expect([await sees("/echo"), await sees("/echo?x=1")]).toEqual([false, false]);
  expect(await sees("/echo", "-X", "POST")).toBe(true);
  await networks.change(sandbox.lease, attached({ paths: ["/v1/*"] }));
  for (const path of ["/echo", "/v1/../echo", "/v1/%2e%2e/echo", "//v1/..//echo"]) {
    const answer = await curl(sandbox, `https://api.example${path}`, { more: [...more, "--path-as-is"] });
    expect([path, answer.includes("[masked]")]).toEqual([path, false]);
  }
  await networks.change(sandbox.lease, attached({ value: "another-value-of-it" }));
  expect(await curl(sandbox, "https://api.example/echo", { more })).toContain("Bearer [masked]");
  await networks.change(sandbox.lease, { internetAccess: true });
  expect(await sees("/echo")).toBe(true);
  await unplug(sandbox);
});

test("a rule whose secret cannot be had refuses its host, and says why", async () => {
  const refused = "network: there is no secret 'gone'";
  const sandbox = await plugIn({ internetAccess: true, edge: { hosts: [{ host: "api.example", headers: {}, refused }] } });
  const before = requests;
  expect(await curl(sandbox, "https://api.example/")).toBe(`Boxyard: ${refused}\n`);
  expect(requests).toBe(before);
  await unplug(sandbox);
});

test("a request that servers would read in two ways is refused, and reaches none", async () => {
  const sandbox = await plugIn(OPEN);
  const send = (bytes: string) =>
    sandbox.standIn.run(
      "python3",
      "-c",
      `import ssl,socket
context = ssl.create_default_context(cafile="${lab.directory}/both.pem")
s = context.wrap_socket(socket.create_connection(("${PUBLIC}", 443), 20), server_hostname="api.example")
s.settimeout(20)
try:
  s.sendall(${bytes})
  print(s.recv(12).decode())
except OSError:
  print("reset")`,
    );
  const head = "POST / HTTP/1.1\\r\\nHost: api.example\\r\\n";
  const before = requests;
  for (const [bytes, status] of [
    [`b"${head}Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /x"`, "400"],
    [`b"${head}Content-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nabcde"`, "400"],
    [`b"${head}Host: other.example\\r\\n\\r\\n"`, "400"],
    [`b"GET https://other.example/ HTTP/1.1\\r\\nHost: api.example\\r\\n\\r\\n"`, "421"],
  ] as const)
    expect([bytes, await send(bytes)]).toEqual([bytes, `HTTP/1.1 ${status}\n`]);
  expect(["HTTP/1.1 431\n", "reset\n"]).toContain(await send(`b"${head}A: " + b"x" * 200000 + b"\\r\\n\\r\\n"`));
  expect(requests).toBe(before);
  // A sandbox cannot have the rules' fields dropped as fields of the connection.
  expect(await curl(sandbox, "https://api.example/", { more: ["-H", "Connection: close, x-added"] })).toBe("api.example one null");
  await unplug(sandbox);
});
