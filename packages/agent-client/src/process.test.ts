import { expect, test } from "bun:test";
import type { AgentAccess } from "./access.ts";
import { runProcess, startProcess } from "./process.ts";

const REQUEST = { cmd: "true", args: [], user: "root" };

/** An agent that answers every request the same way. */
function agentThat(answer: () => Response) {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  const address: AgentAccess["address"] = { host: "127.0.0.1", agentPort: Number(server.port) };
  return { agent: { address, accessToken: "t" }, [Symbol.asyncDispose]: () => server.stop(true) };
}

/** Sends `chunk` without end; `cancelled` resolves when the reader cancels. */
function endless(chunk: Uint8Array) {
  const cancelled = Promise.withResolvers<void>();
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(1);
      sent += chunk.byteLength;
      controller.enqueue(chunk);
    },
    cancel: () => cancelled.resolve(),
  });
  return { body, cancelled: cancelled.promise, sent: () => sent };
}

const start = (agent: AgentAccess) =>
  startProcess(agent, REQUEST, {}, AbortSignal.timeout(3000)).then(
    () => "started",
    (error) => error,
  );

test("an endless refusal is read up to a limit, and cancelled", async () => {
  const { body, cancelled, sent } = endless(new Uint8Array(16 << 10).fill(32));
  await using there = agentThat(() => new Response(body, { status: 500 }));
  expect(await start(there.agent)).toMatchObject({ reason: "agent_refused", message: "the agent gave no reason" });
  await cancelled;
  expect(sent()).toBeLessThan(8 << 20);
});

test("the code and message of a refusal are kept", async () => {
  await using there = agentThat(() => Response.json({ code: "not_found", message: "no such user" }, { status: 404 }));
  expect(await start(there.agent)).toMatchObject({ code: "not_found", message: "no such user", reason: "agent_refused" });
});

test("an agent whose first event is not the start is an error, and its stream is cancelled", async () => {
  const json = Buffer.from(JSON.stringify({ event: { data: {} } }));
  const message = Buffer.alloc(5 + json.byteLength);
  message.writeUInt32BE(json.byteLength, 1);
  json.copy(message, 5);
  const { body, cancelled } = endless(message);
  await using there = agentThat(() => new Response(body));
  expect(await start(there.agent)).toMatchObject({ reason: "sandbox_lost" });
  expect(await Promise.race([cancelled.then(() => "cancelled"), Bun.sleep(500)])).toBe("cancelled");
});

test("other work runs during a flood of messages", async () => {
  const json = Buffer.from(JSON.stringify({ event: { data: {} } }));
  const message = Buffer.alloc(5 + json.byteLength);
  message.writeUInt32BE(json.byteLength, 1);
  json.copy(message, 5);
  const start = Buffer.from(JSON.stringify({ event: { start: { pid: 1 } } }));
  const end = Buffer.from(JSON.stringify({ event: { end: { exitCode: 0, exited: true } } }));
  const framed = (text: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 0, text.byteLength]), text]);
  const flood = Buffer.concat([framed(start), ...Array.from({ length: 50_000 }, () => message), framed(end)]);
  await using there = agentThat(() => new Response(flood));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await runProcess(there.agent, REQUEST, {}, AbortSignal.timeout(20_000));
  isOver = true;
  expect(turns).toBeGreaterThan(300);
});
