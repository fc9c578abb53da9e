import { beforeAll, expect, test } from "bun:test";
import { once } from "node:events";
import { eventually } from "@boxyard/testkit";
import WebSocket from "ws";
import { echoProgram } from "../support/echo-program.ts";
import { usePlatform } from "../support/platform.ts";
import { rawRequest } from "../support/raw-http.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
let sandbox: HeldSandbox;
beforeAll(async () => {
  sandbox = await createSandbox(platform());
}, 60_000);

const to = (port: number, id = sandbox.id) => ({ "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": String(port) });
const get = (port: number, path = "/") => fetch(platform().apiUrl + path, { headers: to(port) });

async function serve(name: string, program: string): Promise<{ stop(): Promise<unknown> }> {
  await sandbox.client.files.write(`/tmp/${name}.js`, program);
  const running = await sandbox.client.commands.run(`exec node /tmp/${name}.js`, { background: true, timeoutMs: 0 });
  return { stop: () => running.kill() };
}

for (const [host, port] of [
  ["127.0.0.1", 8101],
  ["::1", 8102],
  ["localhost", 8103],
] as const) {
  test(`what listens on ${host} only is reached, by HTTP and by WebSocket, and is gone when it ends`, async () => {
    expect((await get(port)).status).toBe(502);
    const server = await serve(`on-${port}`, echoProgram(host, port));
    await eventually("it answers", async () => (await (await get(port)).text()) === "plain");
    const byHost = await rawRequest(platform().apiUrl, {
      method: "GET",
      path: "/",
      headers: { Host: `${port}-${sandbox.id}.sandboxes.test` },
    });
    expect(byHost.status).toBe(200);
    const socket = new WebSocket(platform().apiUrl.replace("http", "ws"), { headers: to(port) });
    await once(socket, "open");
    const answer = once(socket, "message");
    const large = Buffer.alloc(500_000, port & 0xff);
    socket.send(large);
    expect(((await answer)[0] as Buffer).equals(large)).toBe(true);
    const closed = once(socket, "close");
    await server.stop();
    await closed;
    await eventually("the port is closed", async () => (await get(port)).status === 502);
    expect(await (await get(port)).json()).toMatchObject({ message: "The sandbox is running but port is not open", port, code: 502 });
  });
}

test("large bodies go both ways, byte for byte", async () => {
  const program = `require("node:http").createServer((q, s) => { s.writeHead(200); q.pipe(s); }).listen(8104, "127.0.0.1")`;
  await serve("mirror", program);
  await eventually("it answers", async () => (await get(8104)).status === 200);
  const body = Buffer.alloc(20 << 20, "0123456789abcdef-");
  const answer = await fetch(platform().apiUrl, { method: "POST", headers: to(8104), body });
  expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
});

test("many at once are all answered", async () => {
  await serve("slow", `require("node:http").createServer((q, r) => setTimeout(() => r.end("late"), 20)).listen(8105, "127.0.0.1")`);
  await eventually("it answers", async () => (await get(8105)).status === 200);
  const answers = await Promise.all(Array.from({ length: 60 }, async () => (await get(8105)).text()));
  expect(new Set(answers)).toEqual(new Set(["late"]));
});

test("a queue that nobody ever empties holds up nothing else", async () => {
  const program = "import socket, time\ns = socket.socket(); s.bind(('127.0.0.1', 8106)); s.listen(0); time.sleep(1000)";
  await sandbox.client.files.write("/tmp/deaf.py", program);
  await sandbox.client.commands.run("exec python3 /tmp/deaf.py", { background: true, timeoutMs: 0 });
  await eventually("it listens", async () => (await sandbox.asRoot("grep -c ':1FAA ' /proc/net/tcp")).stdout.trim() === "1");
  const giveUp = new AbortController();
  const waiting = Array.from({ length: 8 }, () =>
    fetch(platform().apiUrl, { headers: to(8106), signal: giveUp.signal }).catch(() => undefined),
  );
  expect((await platform().api({ path: `/sandboxes/${sandbox.id}` })).status).toBe(200);
  expect((await sandbox.asRoot("echo on")).stdout).toBe("on\n");
  giveUp.abort();
  await Promise.all(waiting);
});

test("the agent's own port is reached by its address alone, and a private sandbox asks for its token here too", async () => {
  await using quiet = await createSandbox(platform(), { network: { allowPublicTraffic: false } });
  await quiet.client.files.write("/tmp/on.js", echoProgram("127.0.0.1", 8107));
  await quiet.client.commands.run("exec node /tmp/on.js", { background: true, timeoutMs: 0 });
  const headers = { ...to(8107, quiet.id), "E2b-Traffic-Access-Token": quiet.client.trafficAccessToken ?? "" };
  await eventually("it answers", async () => (await fetch(platform().apiUrl, { headers })).status === 200);
  expect((await fetch(platform().apiUrl, { headers: to(8107, quiet.id) })).status).toBe(403);
});
