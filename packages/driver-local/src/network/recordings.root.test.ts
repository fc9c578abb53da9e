import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy, RecordingUse } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import type { NetworkLease, SandboxNetworks } from "../parts.ts";
import { inNetworkNamespace } from "../sys/libc.ts";
import { EdgeAuthority, edgeCertificate } from "./edge-authority/authority.ts";
import { type Lab, openLab, PUBLIC, type StandIn } from "./lab/lab.ts";
import { type NameServer, startNameServer } from "./lab/name-server.ts";
import { HOSTS, makePackages, serveHosts } from "./lab/program-hosts.ts";
import { openNetwork } from "./open-network.ts";

/** Exchanges by HTTP that are kept in a recording and answered from it, with programs as users have them, and then with everything outside gone. */

const INSTANCE = "0000ccce";
const GATEWAY = "10.226.0.1";
const UPSTREAM = "127.0.0.53";
const NOBODY = 65_534;
const TOKEN = "token-of-the-team/0123456789+abc";
const HELD = "boxyard.token.secret";
const WEB = "web.example";

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let trusted: string;
let python: string;
const servers: { stop(force?: boolean): unknown }[] = [];
/** Requests that arrived outside. */
let arrived = 0;
let count = 0;

/** A recording of the server, as the driver gets it. */
function newRecording(): string {
  const id = (++count).toString(16).padStart(32, "0");
  const directory = `${lab.directory}/recordings/${id}`;
  mkdirSync(directory, { mode: 0o711 });
  writeFileSync(`${directory}/frames`, "");
  chownSync(`${directory}/frames`, NOBODY, NOBODY);
  chmodSync(`${directory}/frames`, 0o600);
  return id;
}

const framesOf = (id: string) => `${lab.directory}/recordings/${id}/frames`;
const LIMITS = { maxBytes: 64 << 20, maxExchanges: 1000 };
const record = (id: string, more: object = {}): EgressPolicy => ({
  ...{ internetAccess: true, recording: { id, mode: "record", ...LIMITS, ...more } },
  edge: { hosts: [], secrets: [{ placeholder: HELD, value: TOKEN, hosts: Object.values(HOSTS) }] },
});
const replay = (id: string, more: Partial<RecordingUse> = {}): EgressPolicy => ({
  ...record(id),
  recording: { id, mode: "replay", ...LIMITS, ...more },
});

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  writeFileSync(`${lab.directory}/inside-resolv.conf`, `nameserver ${GATEWAY}\n`);
  for (const host of [...Object.values(HOSTS), WEB]) names.addresses.set(host, PUBLIC);
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  mkdirSync(`${lab.directory}/recordings`, { mode: 0o711 });
  networks = await openNetwork({
    instance: INSTANCE,
    network: "10.226.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    recordings: `${lab.directory}/recordings`,
    logger: silentLogger,
    trust: () => trusted,
  });
  writeFileSync(`${lab.directory}/inside.pem`, edgeCertificate(`${lab.directory}/state`));
  mkdirSync(`${lab.directory}/served`);
  await makePackages(`${lab.directory}/served`);
  const found = Bun.spawn(["python3", "-c", "import sys; print(sys.executable)"], { stdout: "pipe" });
  python = (await new Response(found.stdout).text()).trim();
  const hosts = [...Object.values(HOSTS), WEB];
  const tls = await Promise.all(hosts.map(async (serverName) => ({ ...(await outside.leaf(serverName)), serverName })));
  const packages = serveHosts(`${lab.directory}/served`, TOKEN);
  const fetch = (request: Request, server: Bun.Server<undefined>) => {
    arrived += 1;
    return request.headers.get("host") === WEB ? web(request) : packages(request, server);
  };
  const websocket = { message: (socket: Bun.ServerWebSocket<undefined>, text: string | Buffer) => void socket.send(`you said ${text}`) };
  inNetworkNamespace(lab.outside, () => {
    servers.push(Bun.serve({ hostname: PUBLIC, port: 443, idleTimeout: 60, tls, fetch, websocket }));
    servers.push(Bun.serve({ hostname: PUBLIC, port: 80, idleTimeout: 60, fetch, websocket }));
  });
});

afterAll(async () => {
  for (const server of servers) await server.stop(true);
  names?.stop();
  await networks?.release();
  await lab?.end();
});

let answers = 0;

async function web(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/count") return new Response(`${++answers}`);
  if (pathname === "/large") return new Response(new Uint8Array(20 << 20).fill(7));
  if (pathname === "/leak") return new Response(`it has ${TOKEN}`);
  if (pathname === "/gone") return new Response(null, { status: 204 });
  if (pathname === "/packed")
    return new Response(Bun.gzipSync("unpacked"), { headers: { "content-encoding": "gzip", "set-cookie": "a=b" } });
  return new Response(`${request.method} ${pathname} ${await request.text()}`, { headers: { "x-of": "the server" } });
}

interface Plugged {
  readonly standIn: StandIn;
  readonly lease: NetworkLease;
}

async function plugIn(egress: EgressPolicy): Promise<Plugged> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`r${++count}` as SandboxId, 1, egress);
  await networks.attach(lease, standIn.pid, egress);
  return { standIn, lease };
}

let homes = 0;

/** Runs a line of shell as in a sandbox: with the sandbox's name server, no settings of this machine, and the sandboxes' authority where each program reads it. */
function run({ standIn }: Plugged, line: string): Promise<string> {
  const home = `${lab.directory}/home${++homes}`;
  mkdirSync(home);
  const ca = `${lab.directory}/inside.pem`;
  const trust = ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS"].map((name) => `${name}=${ca}`);
  const env = ["env", "-i", `PATH=${process.env.PATH}`, `HOME=${home}`, "LANG=C.UTF-8", "NPM_CONFIG_GLOBALCONFIG=/dev/null", ...trust];
  const script = `mount --bind ${lab.directory}/inside-resolv.conf /etc/resolv.conf && cd ${home} && { ${line}\n} 2>&1`;
  return standIn.run("unshare", "--mount", ...env, "sh", "-c", script);
}

const get = (of: Plugged, url: string, more = "") => run(of, `curl -sS --max-time 30 ${more} '${url}'; true`);
const PIP = () =>
  `${python} -m pip install -q --disable-pip-version-check --no-input --no-cache-dir --no-deps --target here --index-url https://me:${HELD}@${HOSTS.pip}/simple/ tiny && cd here && find . -name '*.py' | sort | xargs sha256sum`;
const NPM = `mkdir project && cd project && printf 'registry=https://${HOSTS.npm}/\\n//${HOSTS.npm}/:_authToken=${HELD}\\n' > .npmrc && echo '{}' > package.json && npm install --no-audit --no-fund --no-update-notifier --fetch-retries 0 --loglevel error tiny && cat package-lock.json node_modules/tiny/* | sha256sum`;

/** The last line, which says what was installed. */
const sumOf = (text: string) => text.trim().split("\n").at(-1);

/** Nothing outside answers: neither servers nor the name server. */
async function withoutNetwork(work: () => Promise<void>): Promise<void> {
  const before = arrived;
  names.silent = true;
  try {
    await work();
  } finally {
    names.silent = false;
  }
  expect(arrived).toBe(before);
}

test("pip and npm install the same bytes from a recording, with the network gone", async () => {
  const id = newRecording();
  const first = await plugIn(record(id));
  const installed = [sumOf(await run(first, PIP())), sumOf(await run(first, NPM))];
  for (const sum of installed) expect(sum).toMatch(/^[0-9a-f]{64} /);
  expect(readFileSync(framesOf(id), "latin1")).not.toContain(TOKEN);
  const second = await plugIn(replay(id));
  await withoutNetwork(async () => {
    expect([sumOf(await run(second, PIP())), sumOf(await run(second, NPM))]).toEqual(installed);
  });
}, 180_000);

test("heads, bodies, codings and orders come back as they were; what is not there is refused, and reported", async () => {
  const id = newRecording();
  const first = await plugIn(record(id));
  const asks = async (of: Plugged) => [
    await get(of, `https://${WEB}/count`),
    await get(of, `http://${WEB}/count`),
    await get(of, `https://${WEB}/count`),
    await get(of, `https://${WEB}/packed`, "--compressed -i"),
    await get(of, `https://${WEB}/echo?a=1`, "-d one"),
    await get(of, `https://${WEB}/echo?a=1`, "-d two -H 'Transfer-Encoding: chunked'"),
    await get(of, `https://${WEB}/gone`, "-X DELETE -i"),
    await get(of, `https://${WEB}/large`, "-o large -w '%{size_download}'"),
    await get(of, `https://${WEB}/echo`, "-I"),
  ];
  const recorded = await asks(first);
  const second = await plugIn(replay(id));
  networks.takeAttempts();
  await withoutNetwork(async () => {
    const plain = (texts: string[]) =>
      texts.map((text) => text.replaceAll(/^(transfer-encoding|content-length|connection): .*\r\n/gim, ""));
    expect(plain(await asks(second))).toEqual(plain(recorded));
    // Asked for more often than it was recorded: the last answer again.
    expect(await get(second, `https://${WEB}/count`)).toBe(recorded[2] as string);
    expect(await get(second, `https://${WEB}/echo?a=1`, "-d other -w ' %{http_code}'")).toContain("Boxyard: no answer to POST");
    expect(await get(second, `http://${WEB}/never?b=2`, "-w ' %{http_code}'")).toContain("504");
    // Neither another port nor another way leads outside.
    expect(await get(second, `http://${PUBLIC}:8080/`)).toContain("curl: (");
    expect(await get(second, `https://${PUBLIC}/`, "-k")).toContain("curl: (");
  });
  const misses = networks.takeAttempts().attempts.filter(({ protocol }) => protocol === "http");
  expect(misses.map(({ request, rule, isAllowed, name }) => [request, rule, isAllowed, name])).toEqual([
    [`POST https://${WEB}/echo?a=1`, "replay", false, WEB],
    [`GET http://${WEB}/never?b=2`, "replay", false, WEB],
  ]);
}, 120_000);

test("what the recording does not have is passed on where that is asked for, as the policy allows", async () => {
  const id = newRecording();
  const first = await plugIn(record(id));
  await get(first, `https://${WEB}/echo?a=1`, "-d one");
  const before = arrived;
  const second = await plugIn(replay(id, { passes: true }));
  expect(await get(second, `https://${WEB}/echo?a=1`, "-d one")).toBe("POST /echo one");
  expect(arrived).toBe(before);
  expect(await get(second, `https://${WEB}/echo?a=1`, "-d other")).toBe("POST /echo other");
  expect(await get(second, `http://${WEB}/plain`)).toBe("GET /plain ");
  expect(await run(second, `head -c 9000000 /dev/zero | curl -sS --max-time 30 --data-binary @- https://${WEB}/echo | wc -c`)).toMatch(
    /9000011/,
  );
  const closed = await plugIn({ ...replay(id, { passes: true }), internetAccess: false });
  expect(await get(closed, `https://${WEB}/echo?a=1`, "-d one")).toBe("POST /echo one");
  const refused = await get(closed, `http://${WEB}/plain`, "-w ' %{http_code}'");
  expect(refused).toContain("504");
  expect(arrived).toBe(before + 3);
}, 120_000);

test("no value of a secret is on the disk, of a request or of an answer, nor a sandbox's own credentials", async () => {
  const id = newRecording();
  const sandbox = await plugIn(record(id));
  await get(
    sandbox,
    `https://${WEB}/leak?t=${encodeURIComponent(TOKEN)}`,
    `-H 'X-Own: ${TOKEN}' -H 'Authorization: Bearer own-password' -H 'Cookie: c=own-cookie' -d '{"a":"${TOKEN}"}'`,
  );
  await get(sandbox, `https://${HOSTS.api}/`, `-H 'Authorization: Bearer ${HELD}'`);
  await eventually("both are kept", () => readFileSync(framesOf(id), "latin1").split('"tookMs"').length === 3);
  const text = readFileSync(framesOf(id), "latin1");
  for (const secret of [TOKEN, encodeURIComponent(TOKEN), btoa(TOKEN).slice(0, 20), "own-password", "own-cookie"])
    expect([secret, text.includes(secret)]).toEqual([secret, false]);
  expect(text).toContain(`Bearer ${HELD}`);
});

test("a recording that is full stops and says so, and its sandboxes go on; one that cannot be opened too", async () => {
  const id = newRecording();
  const sandbox = await plugIn(record(id, { maxBytes: 1 << 20 }));
  expect(await get(sandbox, `https://${WEB}/one`)).toBe("GET /one ");
  expect(await get(sandbox, `https://${WEB}/large`, "-o large -w '%{size_download}'")).toBe(`${20 << 20}`);
  expect(await get(sandbox, `https://${WEB}/two`)).toBe("GET /two ");
  await eventually("the stop is reported", () => networks.takeAttempts().stopped?.get(id) === "size");
  expect(statSync(framesOf(id)).size).toBeLessThanOrEqual(1 << 20);
  const again = await plugIn(replay(id, { isIncomplete: true }));
  expect(await get(again, `https://${WEB}/one`)).toBe("GET /one ");
  expect(await get(again, `https://${WEB}/two`)).toContain("which is incomplete");
  expect(networks.takeAttempts().attempts.map(({ rule }) => rule)).toContain("incompleteReplay");
  const missing = await plugIn(record("f".repeat(32)));
  expect(await get(missing, `https://${WEB}/one`)).toBe("GET /one ");
  expect(networks.takeAttempts().stopped?.get("f".repeat(32))).toBe("disk");
  const none = await plugIn(replay("f".repeat(32)));
  expect(await get(none, `https://${WEB}/one`)).toContain("no answer to GET");
}, 120_000);

test("a WebSocket passes a sandbox that records, whose recording says so, and is refused in words where a recording answers", async () => {
  const id = newRecording();
  const first = await plugIn(record(id));
  const program = `const socket = new WebSocket("wss://${HOSTS.api}/socket", { tls: { ca: await Bun.file("${lab.directory}/inside.pem").text() } });
socket.onopen = () => socket.send("hello");
socket.onmessage = ({ data }) => { console.log(data); socket.close(); };
socket.onerror = () => { console.log("failed"); process.exit(1); };`;
  writeFileSync(`${lab.directory}/socket.ts`, program);
  expect(await run(first, `${process.execPath} ${lab.directory}/socket.ts`)).toBe("you said hello\n");
  expect(networks.takeAttempts().stopped?.get(id)).toBe("protocol");
  expect(await get(first, `https://${WEB}/after`)).toBe("GET /after ");
  const second = await plugIn(replay(id));
  await withoutNetwork(async () => {
    const upgrade =
      "-i --http1.1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='";
    const refused = await get(second, `https://${HOSTS.api}/socket`, upgrade);
    expect([refused.includes(" 504 "), refused.includes("asks for a WebSocket")]).toEqual([true, true]);
    expect(await get(second, `https://${WEB}/after`)).toBe("GET /after ");
  });
}, 60_000);

test("recordings leave a part of their disk to others: they stop, and say so", async () => {
  const id = newRecording();
  const directory = `${lab.directory}/recordings/${id}`;
  const mount = (...args: string[]) => Bun.spawn(args).exited;
  expect(await mount("mount", "-t", "tmpfs", "-o", "size=64m,mode=711", "lab", directory)).toBe(0);
  try {
    writeFileSync(framesOf(id), "");
    chownSync(framesOf(id), NOBODY, NOBODY);
    const sandbox = await plugIn(record(id, { maxBytes: 1 << 30 }));
    for (let turn = 0; turn < 3; turn++)
      expect(await get(sandbox, `https://${WEB}/large`, "-o large -w '%{size_download}'")).toBe(`${20 << 20}`);
    await eventually("the stop is reported", () => networks.takeAttempts().stopped?.get(id) === "disk");
    // Half of a disk as small as this one.
    expect(statSync(framesOf(id)).size).toBeLessThanOrEqual(32 << 20);
    await networks.change(sandbox.lease, { internetAccess: true });
  } finally {
    await eventually("the file is closed", async () => (await mount("umount", directory)) === 0);
  }
}, 60_000);

test("the proxy is killed in the middle: what was whole stays, and the next one goes on behind it", async () => {
  const id = newRecording();
  const sandbox = await plugIn(record(id));
  expect(await get(sandbox, `https://${WEB}/before`)).toBe("GET /before ");
  await eventually("it is kept", () => readFileSync(framesOf(id), "latin1").includes("/before"));
  const find = Bun.spawn(["pgrep", "-f", `egress-proxy.*${GATEWAY}`], { stdout: "pipe" });
  const [pid] = (await new Response(find.stdout).text()).split("\n").filter(Boolean).map(Number);
  process.kill(pid as number, "SIGKILL");
  // What a process leaves that is killed while it writes.
  writeFileSync(framesOf(id), Buffer.concat([readFileSync(framesOf(id)), Buffer.from([1, 0, 0, 0, 200, 0, 0, 0, 1, 2, 3])]));
  await eventually("the next proxy serves", async () => (await get(sandbox, `https://${WEB}/after`)) === "GET /after ", {
    withinMs: 60_000,
  });
  await eventually("it is kept too", () => readFileSync(framesOf(id), "latin1").includes("/after"));
  const second = await plugIn(replay(id));
  await withoutNetwork(async () => {
    expect([await get(second, `https://${WEB}/before`), await get(second, `https://${WEB}/after`)]).toEqual([
      "GET /before ",
      "GET /after ",
    ]);
  });
}, 120_000);
