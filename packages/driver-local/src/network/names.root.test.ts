import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy, NetworkAttempt } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { type Lab, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { type Greeter, greet, tryTcp, tryUdp } from "./lab/traffic.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";
import { EGRESS_PORTS } from "./plan.ts";

/** Hosts that sandboxes may reach by name. Each refused attempt has an allowed counterpart, and all servers of the outside answer on all addresses. */

const INSTANCE = "0000ffff";
const GATEWAY = "10.221.0.1";
const UPSTREAM = "127.0.0.53";
/** An address of the outside that stands for a server nobody allowed. */
const EVIL = "198.51.100.9";
const PRIVATE = "10.1.2.3";
const WAIT_MS = 5_000;
const NAMED: EgressPolicy = { internetAccess: false, denyOut: ["0.0.0.0/0"], allowOut: ["allowed.example", "*.Wild.example"] };

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
const servers: { stop(force?: boolean): unknown }[] = [];
const greeters: Greeter[] = [];

const open = () =>
  openNetwork({
    instance: INSTANCE,
    network: "10.221.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
  });

/** Answers by HTTP and by HTTPS with the address that was reached and the host that was asked for; `/slow` sends a first byte and stays open. */
function serve(address: string, tls?: { cert: string; key: string }): void {
  const fetch = (request: Request) => {
    if (new URL(request.url).pathname !== "/slow") return new Response(`${address} ${request.headers.get("host")}`);
    return new Response(new ReadableStream({ start: (stream) => stream.enqueue("begun\n") }));
  };
  servers.push(
    inNetworkNamespace(lab.outside, () =>
      Bun.serve({ hostname: address, port: tls ? 443 : 80, idleTimeout: 60, fetch, ...(tls && { tls }) }),
    ),
  );
}

async function certificate(): Promise<{ cert: string; key: string }> {
  const [key, cert] = [`${lab.directory}/key.pem`, `${lab.directory}/cert.pem`];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=lab"];
  const run = Bun.spawn(["openssl", ...made, "-keyout", key, "-out", cert], { stdout: "ignore", stderr: "ignore" });
  expect(await run.exited).toBe(0);
  return { cert: await Bun.file(cert).text(), key: await Bun.file(key).text() };
}

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  for (const name of ["allowed.example", "a.b.wild.example", "wild.example", "denied.example"]) names.addresses.set(name, PUBLIC);
  names.addresses.set("rebound.wild.example", PRIVATE);
  names.addresses.set("machine.wild.example", "203.0.113.2");
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  networks = await open();
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(EVIL) ?? 0, 1));
    netlink.close();
  });
  const tls = await certificate();
  for (const address of [PUBLIC, EVIL, PRIVATE]) {
    serve(address);
    serve(address, tls);
    greeters.push(await inNetworkNamespace(lab.outside, () => greet(address, 8080)));
    greeters.push(await inNetworkNamespace(lab.outside, () => greet(address, 4430)));
  }
});

afterAll(async () => {
  for (const server of servers) await server.stop(true);
  for (const greeter of greeters) greeter.stop();
  names?.stop();
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

/** What `curl` gets of a URL whose host is at this address for it, as if its hosts file said so; `failed` when it gets nothing. */
async function curl({ standIn }: Plugged, url: string, address = PUBLIC, ...more: string[]): Promise<string> {
  const { host, hostname, protocol } = new URL(url);
  const port = host.includes(":") ? host.split(":")[1] : protocol === "https:" ? "443" : "80";
  const args = ["--silent", "--insecure", "--max-time", "10", "--resolve", `${hostname}:${port}:${address}`, ...more, url];
  return (await standIn.run("curl", ...args)) || "failed";
}

test("allowed names are reached by HTTP and HTTPS, in any case and with a final dot; others are not", async () => {
  const sandbox = await plugIn(NAMED);
  for (const scheme of ["http", "https"]) {
    for (const host of ["allowed.example", "ALLOWED.Example", "allowed.example.", "a.b.wild.example"])
      expect([scheme, host, await curl(sandbox, `${scheme}://${host}/`)]).toEqual([scheme, host, expect.stringContaining(`${PUBLIC} `)]);
    for (const host of ["denied.example", "wild.example", "notallowed.example", "allowed.example.denied.example", PUBLIC])
      expect([scheme, host, await curl(sandbox, `${scheme}://${host}/`)]).toEqual([scheme, host, "failed"]);
  }
  await unplug(sandbox);
});

test("connections are in the record with their name, what allowed it and their bytes, and refused ones with their name", async () => {
  const sandbox = await plugIn(NAMED);
  const seen: NetworkAttempt[] = [];
  const recorded = (name: string, port: number) =>
    eventually(`${name}:${port}`, () => {
      seen.push(...networks.takeAttempts().attempts);
      const isWanted = (attempt: NetworkAttempt) => attempt.name === name && attempt.port === port;
      return seen.find((attempt) => attempt.sandboxId === sandbox.lease.sandboxId && isWanted(attempt));
    });
  const sizes = ["--output", "/dev/null", "--write-out", "%{size_request} %{size_header} %{size_download}"];
  const [sent = 0, head = 0, body = 0] = (await curl(sandbox, "http://a.b.Wild.example/", PUBLIC, ...sizes)).split(" ").map(Number);
  expect([sent > 0, head > 0, body > 0]).toEqual([true, true, true]);
  const facts = { protocol: "tcp", isAllowed: true, rule: "allowed", address: PUBLIC } as const;
  const plain = await recorded("a.b.wild.example", 80);
  expect(plain).toMatchObject({ ...facts, entry: "*.wild.example", sentBytes: sent, receivedBytes: head + body });
  await curl(sandbox, "https://allowed.example/");
  const tls = await recorded("allowed.example", 443);
  expect(tls).toMatchObject({ ...facts, entry: "allowed.example" });
  expect([(tls.sentBytes ?? 0) > 100, (tls.receivedBytes ?? 0) > 100]).toEqual([true, true]);
  for (const scheme of ["http", "https"]) await curl(sandbox, `${scheme}://denied.example/`, EVIL);
  for (const port of [80, 443])
    expect(await recorded("denied.example", port)).toMatchObject({ isAllowed: false, rule: "names", address: EVIL, sentBytes: 0 });
  await unplug(sandbox);
});

test("an answer that the sandbox forged leads to what the name server says, for HTTP and HTTPS", async () => {
  const sandbox = await plugIn(NAMED);
  for (const scheme of ["http", "https"])
    expect(await curl(sandbox, `${scheme}://allowed.example/`, EVIL)).toBe(`${PUBLIC} allowed.example`);
  await unplug(sandbox);
});

test("a name that resolves to a private address or to the machine is refused", async () => {
  const sandbox = await plugIn(NAMED);
  for (const scheme of ["http", "https"])
    for (const host of ["rebound.wild.example", "machine.wild.example"]) expect(await curl(sandbox, `${scheme}://${host}/`)).toBe("failed");
  await unplug(sandbox);
});

test("each request of a connection is decided by its own host", async () => {
  const sandbox = await plugIn(NAMED);
  const twice = (second: string) => `import http.client
connection = http.client.HTTPConnection("${EVIL}", 80, timeout=5)
for host in ("allowed.example", "${second}"):
  try:
    connection.request("GET", "/", headers={"Host": host})
    print(connection.getresponse().read().decode())
  except OSError:
    print("reset")`;
  expect(await sandbox.standIn.run("python3", "-c", twice("a.b.wild.example"))).toBe(
    `${PUBLIC} allowed.example\n${PUBLIC} a.b.wild.example\n`,
  );
  expect(await sandbox.standIn.run("python3", "-c", twice("denied.example"))).toBe(`${PUBLIC} allowed.example\nreset\n`);
  await unplug(sandbox);
});

test("other ports, other protocols, TLS without a name, UDP and the proxy's own ports are closed", async () => {
  const sandbox = await plugIn({ ...NAMED, allowOut: ["*"] });
  expect(await curl(sandbox, "http://denied.example/")).toBe(`${PUBLIC} denied.example`);
  expect(await sandbox.standIn.inside(() => tryTcp(PUBLIC, 8080, WAIT_MS))).toBe("refused");
  expect(await sandbox.standIn.inside(() => tryUdp(PUBLIC, 8080, "hello", WAIT_MS))).toBe("refused");
  for (const port of Object.values(EGRESS_PORTS))
    expect(await sandbox.standIn.inside(() => tryTcp(GATEWAY, port, WAIT_MS))).toBe("refused");
  const plain = `import socket\ns = socket.create_connection(("${PUBLIC}", 443), 5)\ns.sendall(b"SSH-2.0-x\\r\\n")\ntry: print(s.recv(9) or "closed")\nexcept OSError: print("reset")`;
  expect(await sandbox.standIn.run("python3", "-c", plain)).toBe("reset\n");
  expect(await curl(sandbox, `https://${PUBLIC}/`)).toBe("failed");
  await unplug(sandbox);
});

test("allowed addresses are reached directly beside names, on every port", async () => {
  const sandbox = await plugIn({ ...NAMED, allowOut: ["allowed.example", EVIL] });
  expect(await sandbox.standIn.inside(() => tryTcp(EVIL, 8080, WAIT_MS))).toBe("hello 203.0.113.2");
  expect(await curl(sandbox, `http://${EVIL}/`, EVIL)).toBe(`${EVIL} ${EVIL}`);
  expect(await curl(sandbox, "https://denied.example/", EVIL)).toBe(`${EVIL} denied.example`);
  expect(await curl(sandbox, "https://denied.example/", PUBLIC)).toBe("failed");
  expect(await curl(sandbox, "https://allowed.example/", PUBLIC)).toBe(`${PUBLIC} allowed.example`);
  await unplug(sandbox);
});

test("only allowed names are resolved", async () => {
  const sandbox = await plugIn(NAMED);
  const look = `import socket,struct,sys\ndef ask(name):\n s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n q = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\\0" + struct.pack(">HH", 1, 1)\n s.sendto(q, ("${GATEWAY}", 53)); return s.recv(512)[3] & 15\nprint([ask(n) for n in sys.argv[1:]])`;
  const asked = ["allowed.example", "ALLOWED.example", "x.y.wild.example", "denied.example", "wild.example", "secret.denied.example"];
  expect(await sandbox.standIn.run("python3", "-c", look, ...asked)).toBe("[0, 0, 0, 5, 5, 5]\n");
  await networks.change(sandbox.lease, { ...NAMED, allowOut: ["denied.example"] });
  expect(await sandbox.standIn.run("python3", "-c", look, ...asked)).toBe("[5, 5, 5, 0, 5, 5]\n");
  await unplug(sandbox);
});

test("a change cuts open connections that it no longer allows, and leaves the others", async () => {
  const sandbox = await plugIn({ ...NAMED, allowOut: ["allowed.example", "denied.example"] });
  const lines: string[] = [];
  const slow = (url: string) =>
    curl(
      sandbox,
      url,
      PUBLIC,
      "--no-buffer",
      "--max-time",
      "60",
      "--write-out",
      "%{exitcode}",
      "--output",
      `${lab.directory}/${lines.push(url)}`,
    );
  const cut = [slow("http://denied.example/slow"), slow("https://denied.example/slow")];
  void slow("https://allowed.example/slow");
  const begun = async (file: number) =>
    (await Bun.file(`${lab.directory}/${file}`)
      .text()
      .catch(() => "")) === "begun\n";
  for (const file of [1, 2, 3]) await eventually("the answer begins", () => begun(file));
  await networks.change(sandbox.lease, NAMED);
  expect((await Promise.all(cut)).every((code) => code !== "0" && code !== "failed")).toBe(true);
  expect(await curl(sandbox, "https://denied.example/")).toBe("failed");
  expect(await curl(sandbox, "https://allowed.example/")).toBe(`${PUBLIC} allowed.example`);
  await networks.change(sandbox.lease, { internetAccess: false });
  expect(await curl(sandbox, "https://allowed.example/")).toBe("failed");
  await networks.change(sandbox.lease, { internetAccess: true });
  expect(await curl(sandbox, "https://denied.example/", EVIL)).toBe(`${EVIL} denied.example`);
  await unplug(sandbox);
});

/** The processes of the proxy in the router's namespace. */
async function proxies(): Promise<number[]> {
  const find = Bun.spawn(["pgrep", "-f", `egress-proxy.*${GATEWAY}`], { stdout: "pipe" });
  return (await new Response(find.stdout).text()).split("\n").filter(Boolean).map(Number);
}

test("a killed proxy opens nothing, and one that is started anew has all rules", async () => {
  const sandbox = await plugIn(NAMED);
  const [pid, ...more] = await proxies();
  expect([pid !== undefined, more]).toEqual([true, []]);
  expect(await Bun.file(`/proc/${pid}/status`).text()).toMatch(/Uid:\t65534\t65534\t65534\t65534[\s\S]*CapPrm:\t0+\n[\s\S]*NoNewPrivs:\t1/);
  process.kill(pid as number, "SIGKILL");
  expect(await curl(sandbox, "https://denied.example/")).toBe("failed");
  await eventually("another proxy serves", async () => (await curl(sandbox, "https://allowed.example/")) === `${PUBLIC} allowed.example`);
  expect(await curl(sandbox, "https://denied.example/")).toBe("failed");
  await unplug(sandbox);
});

test("a server that was started anew goes on with the rules of the sandboxes that it adopts, and ends its proxy", async () => {
  const sandbox = await plugIn(NAMED);
  await networks.close();
  expect(await proxies()).toEqual([]);
  expect(await curl(sandbox, "https://allowed.example/")).toBe("failed");
  networks = await open();
  networks.adopt([sandbox.lease], () => NAMED);
  await eventually("the proxy serves", async () => (await curl(sandbox, "https://allowed.example/")) === `${PUBLIC} allowed.example`);
  expect(await curl(sandbox, "https://denied.example/")).toBe("failed");
  await unplug(sandbox);
});
