import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
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
import { HOSTS, makePackages, serveHosts } from "./lab/program-hosts.ts";
import { newAddress } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { openNetwork } from "./open-network.ts";

/** Secrets at the edge with programs as users have them, which trust the sandboxes' authority alone; and with servers that misbehave. */

const INSTANCE = "0000cccc";
const GATEWAY = "10.224.0.1";
const UPSTREAM = "127.0.0.53";
/** A server that answers by hand, at an address of its own. */
const ODD = "198.51.100.30";
const ODD_HOST = "odd.example";
const TOKEN = "token-of-the-team/0123456789+abc";
const HELD = "boxyard.token.secret";

let lab: Lab;
let networks: SandboxNetworks;
let names: NameServer;
let trusted: string;
let python: string;
let sandbox: { readonly standIn: StandIn; readonly lease: NetworkLease };
const servers: { stop(force?: boolean): unknown }[] = [];
/** Connections that the odd server has. */
let odd = 0;

const policy = (secret: object = {}): EgressPolicy => ({
  internetAccess: true,
  edge: { hosts: [], secrets: [{ placeholder: HELD, value: TOKEN, hosts: [...Object.values(HOSTS), ODD_HOST], ...secret }] },
});

/** What the odd server sends for each path. */
const ODD_ANSWERS: Readonly<Record<string, string>> = {
  "/short": `HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this`,
  "/continue": `HTTP/1.1 100 Continue\r\nX-Echo: ${TOKEN}\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nafter all`,
  "/old": `HTTP/1.0 200 OK\r\n\r\nit says ${TOKEN}`,
};

function serveOdd(tls: { cert: string; key: string }): void {
  const pour = (socket: Bun.Socket<{ head: string }>) => {
    const line = Buffer.from("X-More: and more of it\r\n".repeat(100));
    for (let i = 0; i < 1000; i++) if (socket.write(line) < line.byteLength) return;
  };
  const server = Bun.listen<{ head: string }>({
    hostname: ODD,
    port: 443,
    tls,
    socket: {
      open(socket) {
        odd += 1;
        socket.data = { head: "" };
      },
      close() {
        odd -= 1;
      },
      data(socket, bytes) {
        socket.data.head += bytes.toString("latin1");
        if (!socket.data.head.includes("\r\n\r\n")) return;
        const path = socket.data.head.split(" ")[1] ?? "";
        if (path === "/endless") socket.write("HTTP/1.1 200 OK\r\n");
        if (path === "/endless") pour(socket);
        else socket.end(ODD_ANSWERS[path] ?? "");
      },
      drain: (socket) => (socket.data.head.includes("/endless") ? pour(socket) : undefined),
    },
  });
  servers.push(server);
}

beforeAll(async () => {
  lab = await openLab();
  names = await startNameServer(UPSTREAM);
  writeFileSync(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const all = [...Object.values(HOSTS).map((host) => [host, PUBLIC] as const), [ODD_HOST, ODD] as const];
  for (const [host, address] of all) names.addresses.set(host, address);
  writeFileSync(`${lab.directory}/hosts`, all.map(([host, address]) => `${address} ${host}\n`).join(""));
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  trusted = edgeCertificate(`${lab.directory}/outside`);
  networks = await openNetwork({
    instance: INSTANCE,
    network: "10.224.0.0/16",
    stateDirectory: `${lab.directory}/state`,
    runDirectory: `${lab.directory}/run`,
    resolvConf: `${lab.directory}/resolv.conf`,
    logger: silentLogger,
    trust: () => trusted,
  });
  writeFileSync(`${lab.directory}/inside.pem`, edgeCertificate(`${lab.directory}/state`));
  mkdirSync(`${lab.directory}/served`);
  await makePackages(`${lab.directory}/served`);
  const found = Bun.spawn(["python3", "-c", "import sys; print(sys.executable)"], { stdout: "pipe" });
  python = (await new Response(found.stdout).text()).trim();
  inNetworkNamespace(lab.outside, () => {
    const netlink = new NetlinkSocket(NETLINK_ROUTE);
    netlink.request(newAddress(parseAddress(ODD) ?? 0, 1));
    netlink.close();
  });
  const tls = await Promise.all(Object.values(HOSTS).map(async (serverName) => ({ ...(await outside.leaf(serverName)), serverName })));
  const websocket = { message: (socket: Bun.ServerWebSocket<undefined>, text: string | Buffer) => void socket.send(`you said ${text}`) };
  const fetch = serveHosts(`${lab.directory}/served`, TOKEN);
  const oddTls = await outside.leaf(ODD_HOST);
  inNetworkNamespace(lab.outside, () => {
    servers.push(Bun.serve({ hostname: PUBLIC, port: 443, idleTimeout: 60, tls, fetch, websocket }));
    serveOdd(oddTls);
  });
  const standIn = await lab.sandbox();
  const lease = networks.allocate("i1" as SandboxId, 1, policy());
  await networks.attach(lease, standIn.pid, policy());
  sandbox = { standIn, lease };
});

afterAll(async () => {
  for (const server of servers) await server.stop(true);
  names?.stop();
  await networks?.release();
  await lab?.end();
});

let homes = 0;

/** Runs a line of shell as in a sandbox: with names of the outside, no settings of this machine, and the sandboxes' authority where each program reads it. */
function run(line: string): Promise<string> {
  const home = `${lab.directory}/home${++homes}`;
  mkdirSync(home);
  const ca = `${lab.directory}/inside.pem`;
  const trust = ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS"].map((name) => `${name}=${ca}`);
  const env = [
    "env",
    "-i",
    `PATH=${process.env.PATH}`,
    `HOME=${home}`,
    "LANG=C.UTF-8",
    "GIT_TERMINAL_PROMPT=0",
    "NPM_CONFIG_GLOBALCONFIG=/dev/null",
    ...trust,
  ];
  const script = `mount --bind ${lab.directory}/hosts /etc/hosts && cd ${home} && { ${line}\n} 2>&1`;
  return sandbox.standIn.run("unshare", "--mount", ...env, "sh", "-c", script);
}

test("git clones and pushes over HTTPS with a password that the sandbox does not have", async () => {
  const author = "-c user.name=in -c user.email=in@lab.example";
  const url = `https://me:${HELD}@${HOSTS.git}/repo.git`;
  const pushed = `git clone -q ${url} repo && cd repo && cat file && head -c 3000000 /dev/urandom > large && git add large && git ${author} commit -qm second && git push -q && git ls-remote ${url} | wc -l`;
  expect(await run(pushed)).toMatch(/^first\n\s*[1-9]\d*\n$/);
  expect(await run(`git clone -q ${url} repo && stat -c %s repo/large`)).toBe("3000000\n");
  expect(await run(`git clone -q https://me:other@${HOSTS.git}/repo.git`)).toContain("Authentication failed");
}, 120_000);

test("pip installs from an index with basic authentication", async () => {
  const install = (password: string) =>
    `${python} -m pip install -q --disable-pip-version-check --no-input --no-cache-dir --no-deps --target here --index-url https://me:${password}@${HOSTS.pip}/simple/ tiny`;
  const shown = await run(`${install(HELD)} && PYTHONPATH=here ${python} -c 'import tiny; print(tiny.WORD)'`);
  expect(shown.trim().split("\n").at(-1)).toBe("tiny of pip");
  expect(await run(`${install("other")} </dev/null; true`)).toContain("ERROR");
}, 120_000);

test("npm installs from a registry with a token", async () => {
  const install = (token: string) =>
    `printf 'registry=https://${HOSTS.npm}/\\n//${HOSTS.npm}/:_authToken=${token}\\n' > .npmrc && echo '{}' > package.json && npm install --no-audit --no-fund --no-update-notifier --fetch-retries 0 --loglevel error tiny`;
  const shown = await run(`${install(HELD)} && node -p 'require("tiny")'`);
  expect(shown.trim().split("\n").at(-1)).toBe("tiny of npm");
  expect(await run(`${install("other")}; true`)).toContain("E401");
}, 120_000);

test("curl of HTTP/1.0, with a body that waits for 100, and with a server that speaks HTTP/1.0", async () => {
  const bearer = `-sS --max-time 30 -H 'Authorization: Bearer ${HELD}'`;
  for (const path of ["", "stream"]) {
    expect([path, await run(`curl ${bearer} https://${HOSTS.api}/${path}`)]).toEqual([path, "Bearer [masked]\n"]);
    expect([path, await run(`curl ${bearer} --http1.0 https://${HOSTS.api}/${path}`)]).toEqual([path, "Bearer [masked]\n"]);
  }
  const upload = `head -c 3000000 /dev/zero | curl ${bearer} -H 'Expect: 100-continue' --data-binary @- https://${HOSTS.api}/upload`;
  expect(await run(upload)).toBe("3000000");
  const answer = await run(`curl ${bearer} -i https://${ODD_HOST}/continue`);
  expect([answer.includes("X-Echo: [masked]"), answer.endsWith("after all"), answer.includes(TOKEN)]).toEqual([true, true, false]);
  expect(await run(`curl ${bearer} https://${ODD_HOST}/old`)).toBe("it says [masked]");
}, 120_000);

test("a WebSocket passes through opened TLS", async () => {
  const program = `const socket = new WebSocket("wss://${HOSTS.api}/socket", { headers: { Authorization: "Bearer ${HELD}" }, tls: { ca: await Bun.file("${lab.directory}/inside.pem").text() } });
socket.onopen = () => socket.send("hello");
socket.onmessage = ({ data }) => { console.log(data); socket.close(); };
socket.onerror = (error) => { console.log("failed", error.message); process.exit(1); };`;
  writeFileSync(`${lab.directory}/socket.ts`, program);
  expect(await run(`${process.execPath} ${lab.directory}/socket.ts`)).toBe("you said hello\n");
});

test("a server that ends too early, or never ends its head, ends the request and is left", async () => {
  const ask = (path: string) => run(`curl -sS --max-time 60 -o /dev/null https://${ODD_HOST}${path} && echo whole || true`);
  for (const path of ["/short", "/endless", "/nothing"])
    expect([path, await ask(path)]).toEqual([path, expect.stringContaining("curl: (")]);
  await eventually("no connection to the server is left", () => odd === 0);
  expect(await run(`curl -sS --max-time 30 https://${HOSTS.api}/`)).toBe("null\n");
}, 120_000);

test("a stopped proxy lets nothing by, a change ends it, and the next one has the new rules", async () => {
  const find = Bun.spawn(["pgrep", "-f", `egress-proxy.*${GATEWAY}`], { stdout: "pipe" });
  const [pid] = (await new Response(find.stdout).text()).split("\n").filter(Boolean).map(Number);
  process.kill(pid as number, "SIGSTOP");
  const ask = `curl -sS --max-time 2 -H 'Authorization: Bearer ${HELD}' https://${HOSTS.api}/`;
  expect(await run(ask)).toContain("curl: (28)");
  await expect(networks.change(sandbox.lease, policy({ hosts: ["other.example"] }))).rejects.toMatchObject({ reason: "egress_proxy" });
  await eventually("the next proxy serves", async () => !(await run(`${ask} --insecure`)).includes("curl: ("), { withinMs: 60_000 });
  // No rule is for this host any more: its server gets what the sandbox holds.
  expect(await run(`${ask} --insecure`)).toBe(`Bearer ${HELD}\n`);
  await networks.change(sandbox.lease, policy());
  expect(await run(ask)).toBe("Bearer [masked]\n");
}, 120_000);
