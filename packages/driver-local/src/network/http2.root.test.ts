import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { parseAddress } from "./addresses.ts";
import { EdgeAuthority, edgeCertificate } from "./edge-authority/authority.ts";
import { type Lab, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** HTTP/2 and gRPC through opened TLS: `curl` and a client on Node inside, a server on Node outside, and one that speaks HTTP/1.1 alone. */

const UPSTREAM = "127.0.0.53";
const OLD = "198.51.100.31";
const HOST = "api.example";
const OLD_HOST = "old.example";
const TOKEN = "token-of-the-team/0123456789+abc";
const HELD = "boxyard.token.secret";
const RECORDING = "a".repeat(32);
const PROGRAMS = `${import.meta.dir}/lab/http2`;

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let trusted: string;
let server: Bun.Subprocess<"ignore", "pipe", "inherit">;
let old: Bun.Server<undefined>;
let sandbox: { readonly standIn: StandIn; readonly lease: NetworkLease };

const RULES: EgressPolicy = {
  internetAccess: true,
  edge: { hosts: [HOST, OLD_HOST].map((host) => ({ host, headers: { "X-Added": "by rule" } })) },
};
const SECRET: EgressPolicy = {
  internetAccess: true,
  edge: { hosts: [], secrets: [{ placeholder: HELD, value: TOKEN, hosts: [HOST], paths: ["/echo", "/coded", "/lab.Echo/*", "/fields"] }] },
};

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const hosts = [
    [HOST, PUBLIC],
    [OLD_HOST, OLD],
  ] as const;
  for (const [host, address] of hosts) names.addresses.set(host, address);
  writeFileSync(`${lab.directory}/hosts`, hosts.map(([host, address]) => `${address} ${host}\n`).join(""));
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  networks = await openNetwork({
    instance: "0000abab",
    network: "10.225.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    recordings: `${lab.directory}/recordings`,
    logger: silentLogger,
    trust: () => trusted,
  });
  mkdirSync(`${lab.directory}/recordings/${RECORDING}`, { recursive: true, mode: 0o711 });
  for (const path of ["recordings", `recordings/${RECORDING}`]) chmodSync(`${lab.directory}/${path}`, 0o711);
  writeFileSync(`${lab.directory}/recordings/${RECORDING}/frames`, "");
  chownSync(`${lab.directory}/recordings/${RECORDING}/frames`, 65_534, 65_534);
  writeFileSync(`${lab.directory}/inside.pem`, edgeCertificate(`${lab.directory}/state`) + trusted);
  mkdirSync(`${lab.directory}/tls`);
  const { cert, key } = await outside.leaf(HOST);
  writeFileSync(`${lab.directory}/tls/cert`, cert);
  writeFileSync(`${lab.directory}/tls/key`, key);
  const namespace = `--net=/proc/${process.pid}/fd/${lab.outside}`;
  const command = ["nsenter", namespace, "node", `${PROGRAMS}/server.mjs`, PUBLIC, `${lab.directory}/tls/cert`, `${lab.directory}/tls/key`];
  server = Bun.spawn(command, { stdout: "pipe", stderr: "inherit", stdin: "ignore" });
  await server.stdout.getReader().read();
  const tls = await outside.leaf(OLD_HOST);
  old = inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(OLD) ?? 0, 1));
    netlink.close();
    return Bun.serve({ hostname: OLD, port: 443, tls, fetch: (request) => new Response(`old ${request.headers.get("x-added")}`) });
  });
  const standIn = await lab.sandbox();
  const lease = networks.allocate("i1" as SandboxId, 1, RULES);
  await networks.attach(lease, standIn.pid, RULES);
  sandbox = { standIn, lease };
});

afterAll(async () => {
  server?.kill();
  await server?.exited;
  await old?.stop(true);
  names?.stop();
  await networks?.release();
  await lab?.end();
});

/** Runs a line of shell inside, where the names of the outside have their addresses and the sandboxes' authority is trusted. */
function run(line: string): Promise<string> {
  const ca = `${lab.directory}/inside.pem`;
  const env = ["env", `CURL_CA_BUNDLE=${ca}`, `NODE_EXTRA_CA_CERTS=${ca}`, `AUTHORIZATION=Bearer ${HELD}`];
  return sandbox.standIn.run(
    "unshare",
    "--mount",
    ...env,
    "sh",
    "-c",
    `mount --bind ${lab.directory}/hosts /etc/hosts && { ${line}\n} 2>&1`,
  );
}

const use = (policy: EgressPolicy) => networks.change(sandbox.lease, policy);
const curl = (path: string, ...more: string[]) => run(`curl -sS --http2 --max-time 30 ${more.join(" ")} https://${HOST}${path}`);
/** The version of HTTP that curl and the server spoke, after what else it shows. */
const VERSION = "-w '%{http_version}'";

test("a request has the fields of the rules, in place of its own, and the answer all of its fields", async () => {
  await use(RULES);
  const answer = await curl("/fields?x=1", "-i", "-H 'x-added: mine'", "-H 'x-own: 1'", "-H 'x-own: 2'", VERSION);
  expect(answer).toContain("HTTP/2 200");
  expect(answer.match(/set-cookie: \w=\d/g)).toEqual(["set-cookie: a=1", "set-cookie: b=2"]);
  expect(answer.match(/^date: /gm)?.length).toBe(1);
  for (const pair of ['":path","/fields?x=1"', `":authority","${HOST}"`, '"x-added","by rule"', '"x-own","1","x-own","2"'])
    expect(answer).toContain(pair);
  expect(answer).not.toContain("mine");
  expect(answer.endsWith("]2")).toBe(true);
});

test("a client that offers HTTP/1.1 alone gets that, and so does one of a server that speaks nothing else", async () => {
  await use(RULES);
  expect(await run(`curl -sS --http1.1 --max-time 30 ${VERSION} https://${OLD_HOST}/`)).toBe("old by rule1.1");
  for (const _ of [1, 2]) expect(await run(`curl -sS --http2 --max-time 30 ${VERSION} https://${OLD_HOST}/`)).toBe("old by rule1.1");
  // The server of this host speaks HTTP/2 alone.
  expect(await curl("/fields", "--http1.1")).toContain(`Boxyard: ${HOST} can't be reached`);
});

test("large bodies pass whole both ways, also to a reader that is slow", async () => {
  await use(RULES);
  const body = Buffer.from(Array.from({ length: 20 << 20 }, (_, i) => (i * 7 + (i >> 8)) & 255));
  writeFileSync(`${lab.directory}/body`, body);
  const hash = createHash("sha256").update(body).digest("hex");
  expect(await curl("/upload", `--data-binary @${lab.directory}/body`)).toBe(hash);
  // A server that answers before it has read the body, which curl reports, directly too.
  expect(await curl("/early", `--data-binary @${lab.directory}/body`)).toContain("no body needed");
  const size = ["-o /dev/null", "-w '%{size_download}'"];
  expect(await curl("/large", ...size)).toBe(String(64 << 20));
  expect(await curl("/large", ...size, "--limit-rate 30M")).toBe(String(64 << 20));
}, 120_000);

test("interim answers pass, and an answer that a server cuts off is no whole one for the client", async () => {
  await use(RULES);
  const hints = await curl("/hints", "-i");
  expect([hints.includes("HTTP/2 103"), hints.includes("link: </style>"), hints.endsWith("after all")]).toEqual([true, true, true]);
  for (const path of ["/reset", "/cut"]) expect([path, await curl(path)]).toEqual([path, expect.stringContaining("curl: (")]);
  // A server that leaves after an answer: the next request has another connection.
  expect(await curl("/leave", "--next", "-sS", "--http2", `https://${HOST}/fields`)).toContain("left");
  expect(await run(`curl -sS --http2 --max-time 30 https://${HOST}/leave https://${HOST}/leave https://${HOST}/leave`)).toBe(
    "leftleftleft",
  );
});

test("gRPC passes: one answer, streams both ways, fields behind answers, errors, and more requests than a server takes at once", async () => {
  await use(RULES);
  const shown = JSON.parse(await run(`exec node ${PROGRAMS}/grpc-client.mjs https://${HOST}`));
  expect(shown).toEqual({
    say: "hello by rule",
    behind: `behind Bearer ${HELD}`,
    failed: "5 no such thing",
    echo: `Bearer ${HELD}`,
    count: (5000 * 5001) / 2,
    talk: ["you said one", "you said two", "you said three"],
    many: 150,
  });
}, 60_000);

test("a secret is put in, and neither a body nor fields nor those behind it bring it inside", async () => {
  await use(SECRET);
  const bearer = `-H 'Authorization: Bearer ${HELD}'`;
  const answer = await curl("/echo", "-v", bearer, "-H 'Accept-Encoding: gzip'", "-H 'Range: bytes=0-4'");
  const own = answer
    .split("\n")
    .filter((line) => !/^[>*]/.test(line))
    .join("\n");
  expect(own.match(/Bearer \[masked\]/g)?.length).toBe(3);
  expect([own.includes("[masked] identity"), own.includes(TOKEN), own.includes(HELD)]).toEqual([true, false, false]);
  expect(await curl("/coded", bearer)).toContain("curl: (");
  // Not a path of the secret.
  expect(await curl("/upload", bearer, "-d x")).toBe(createHash("sha256").update("x").digest("hex"));
  const shown = JSON.parse(await run(`exec node ${PROGRAMS}/grpc-client.mjs https://${HOST}`));
  // A message with the secret ends the answer; others pass, each at once.
  expect([shown.behind, shown.echo, shown.talk.length, shown.many]).toEqual(["behind Bearer [masked]", "ended", 3, 150]);
}, 60_000);

test("requests for another host, of another form or to a host that is refused reach no server", async () => {
  await use(RULES);
  const refused = await curl("/fields", "-H 'Host: other.example'");
  expect(refused).toStartWith("Boxyard: the Host of this request is not api.example");
  expect(await curl("/fields", "-H 'Host: API.example:443'")).toContain(`":authority","${HOST}"`);
  await use({ internetAccess: true, edge: { hosts: [{ host: HOST, headers: {}, refused: "there is no secret" }] } });
  expect(await curl("/fields")).toBe("Boxyard: there is no secret\n");
  await use({ ...SECRET, denyOut: ["198.51.100.0/24"] });
  expect(await curl("/fields")).toContain("curl: (");
});

test("a client that leaves ends the request at the server, and a change ends open ones at once", async () => {
  await use(RULES);
  const cancelled = async () => Number(await curl("/cancelled"));
  const before = await cancelled();
  const file = `${lab.directory}/events`;
  const watch = () => {
    writeFileSync(file, "");
    return curl("/events", "--no-buffer", `-o ${file}`, "--max-time 2");
  };
  const hasBegun = () => eventually("the first event arrives", () => readFileSync(file, "utf8") === "data: first\n\n");
  const left = watch();
  await hasBegun();
  expect(await left).toContain("curl: (28)");
  await eventually("the server has no such request any more", async () => (await cancelled()) === before + 1);
  const cut = watch();
  await hasBegun();
  await use({ internetAccess: false });
  expect(await cut).toMatch(/curl: \((?!28)/);
  await use(RULES);
  await eventually("the server has no such request any more", async () => (await cancelled()) === before + 2);
}, 60_000);

test("gRPC passes a sandbox that records, whose recording says that it lacks something; where a recording answers it is refused, and reported", async () => {
  const recording = { id: RECORDING, maxBytes: 1 << 20, maxExchanges: 100 };
  const grpc = () => run(`exec node ${PROGRAMS}/grpc-client.mjs https://${HOST}`);
  await use({ internetAccess: true, recording: { ...recording, mode: "record" } });
  networks.takeAttempts();
  expect(JSON.parse(await grpc())).toMatchObject({ failed: "5 no such thing", count: 12_502_500 });
  expect(networks.takeAttempts().stopped?.get(RECORDING)).toBe("protocol");
  // What is offered HTTP/1.1 too is kept as always.
  expect(await curl("/fields", VERSION)).toMatch(/1\.1$/);
  await use({ internetAccess: true, recording: { ...recording, mode: "replay" } });
  networks.takeAttempts();
  expect(await grpc()).toContain("ECONNRESET");
  const misses = networks.takeAttempts().attempts.filter(({ protocol }) => protocol === "http");
  expect(misses[0]).toMatchObject({ request: `CONNECT https://${HOST}/`, isAllowed: false, rule: "replay", name: HOST });
  expect(await curl("/fields", VERSION)).toMatch(/1\.1$/);
  // Rules and secrets hold: TLS is opened for their hosts, where a recording is in use for HTTP/1.1 alone.
  await use({ ...RULES, recording: { ...recording, mode: "record" } });
  expect(await grpc()).not.toContain("hello");
}, 90_000);
