import { afterEach, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { UpstreamPool } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { AgentLines } from "./agent-lines.ts";
import { upstreamKey } from "./keep.ts";

const pool = new UpstreamPool(() => performance.now(), 60_000);
const lines = new AgentLines(pool);
const of = { driver: "fake", sandboxId: "i1" as SandboxId, incarnation: 1 };
const key = upstreamKey(of.sandboxId, of.incarnation, AGENT_PORT);
const never = new AbortController().signal;

let agent: Bun.TCPSocketListener<unknown> | undefined;
afterEach(() => {
  pool.sweep("");
  agent?.stop(true);
});

/** An agent that answers each request with these bytes. Returns what it has received, a text for each connection. */
function answering(answer: string | undefined): string[] {
  const received: string[] = [];
  agent = Bun.listen<{ at: number }>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { at: received.push("") - 1 };
      },
      data(socket, bytes) {
        received[socket.data.at] += bytes.toString();
        if (answer === undefined) socket.end();
        else socket.write(answer);
      },
    },
  });
  return received;
}
const post = (signal = never) =>
  lines.post({ host: "127.0.0.1", agentPort: agent?.port ?? 0 }, of, "/init", { key: "secret", body: '{"a":"ü"}' }, signal);

test("a second request goes through the connection of the first, and so would one of the proxy", async () => {
  const received = answering("HTTP/1.1 204 No Content\r\nX-Envd-Version: 1\r\n\r\n");
  expect([await post(), await post()]).toEqual([204, 204]);
  const sent = `POST /init HTTP/1.1\r\nHost: 127.0.0.1:${agent?.port}\r\nContent-Type: application/json\r\nX-Init-Key: secret\r\nContent-Length: 10\r\n\r\n{"a":"ü"}`;
  expect(received).toEqual([sent + sent]);
  expect(pool.take(key)).toBeDefined();
});

test.each([
  ["has a body", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", 200],
  ["ends the connection", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", 204],
  ["has more after its end", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 204],
  ["is no HTTP", "\u0000\u0001<garbage>\r\n\r\n", undefined],
  ["is none", undefined, undefined],
])("a connection whose answer %s serves nobody else", async (_what, answer, status) => {
  answering(answer);
  expect(await post()).toBe(status as number);
  expect(pool.take(key)).toBeUndefined();
});

test("there is no answer where nothing listens, and after the abort", async () => {
  answering("");
  const stop = new AbortController();
  const waiting = post(stop.signal);
  stop.abort();
  expect(await waiting).toBeUndefined();
  agent?.stop(true);
  expect(await post()).toBeUndefined();
  expect(await post(stop.signal)).toBeUndefined();
});
