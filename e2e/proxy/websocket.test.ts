import { expect, test } from "bun:test";
import { once } from "node:events";
import { eventually } from "@boxyard/testkit";
import WebSocket from "ws";
import { echoProgram } from "../support/echo-program.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

async function echoServer(): Promise<HeldSandbox> {
  const sandbox = await createSandbox(platform());
  await sandbox.client.files.write("/tmp/echo.js", echoProgram("0.0.0.0", 8080));
  await sandbox.client.commands.run("node /tmp/echo.js", { background: true, timeoutMs: 0 });
  await eventually("the server answers", async () => (await fetch(platform().apiUrl, { headers: byHeaders(sandbox) })).status === 200);
  return sandbox;
}

const byHeaders = (sandbox: HeldSandbox) => ({ "Svc-Sandbox-Id": sandbox.id, "Svc-Sandbox-Port": "8080" });
const byHost = (sandbox: HeldSandbox) => ({ Host: `8080-${sandbox.id}.sandboxes.test` });

const ROUTES: Readonly<Record<string, (sandbox: HeldSandbox) => { headers?: Record<string, string>; path?: string }>> = {
  "by headers": (sandbox) => ({ headers: byHeaders(sandbox) }),
  "by host name": (sandbox) => ({ headers: byHost(sandbox) }),
  "by path": (sandbox) => ({ path: `/ports/${sandbox.id}/8080/` }),
};

for (const [name, route] of Object.entries(ROUTES)) {
  test(`a WebSocket ${name} carries text and binary both ways and closes`, async () => {
    await using sandbox = await echoServer();
    const { path = "", headers = {} } = route(sandbox);
    const socket = new WebSocket(platform().apiUrl.replace("http", "ws") + path, { headers });
    await once(socket, "open");
    const echo = async (data: string | Buffer) => {
      const answer = once(socket, "message");
      socket.send(data);
      return Buffer.from((await answer)[0] as Buffer);
    };
    expect((await echo("ahoj")).toString()).toBe("ahoj");
    const large = Buffer.alloc(500_000, 7);
    expect((await echo(large)).equals(large)).toBe(true);
    const closed = once(socket, "close");
    socket.close(1000);
    await closed;
  });
}

test("a WebSocket to a sandbox that ends is closed", async () => {
  await using sandbox = await echoServer();
  const socket = new WebSocket(platform().apiUrl.replace("http", "ws"), { headers: byHeaders(sandbox) });
  await once(socket, "open");
  socket.on("error", () => {});
  const closed = once(socket, "close");
  await sandbox.client.kill();
  await closed;
  expect(socket.readyState).toBe(WebSocket.CLOSED);
});
