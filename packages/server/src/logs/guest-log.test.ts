import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { GuestEntry } from "@boxyard/agent-client";
import { TestServer } from "../testing/test-server.ts";

let s: TestServer;
beforeEach(async () => {
  s = await TestServer.start();
});
afterEach(() => s[Symbol.asyncDispose]());

interface Line {
  readonly message: string;
  readonly level: string;
  readonly fields: Record<string, string>;
}
const logOf = async (id: string, query = "") =>
  (await s.call("GET", `/v2/sandboxes/${id}/logs?direction=forward${query}`)).body.logs as Line[];
const guestOf = async (id: string) => (await logOf(id)).filter(({ fields }) => fields.logger === "guest").map(({ message }) => message);

/** A request of a client to the agent, which makes the agent one that may have something to say. */
const use = (id: string, token: string) =>
  fetch(`${s.url}/echo`, { headers: { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token } });

async function sandboxWith(entries: readonly (Partial<GuestEntry> | undefined)[]) {
  const { sandboxID: id, envdAccessToken } = await s.create();
  const agent = s.world.sandboxes.get(id)?.agent;
  if (!agent) throw new Error("no agent");
  const asked: number[] = [];
  const at = Date.now();
  const all = [...entries];
  agent.journal = (after) => {
    asked.push(after);
    const now = all.map((entry, i) => entry && { seq: i + 1, at, kind: "agent", text: `line ${i + 1}`, ...entry });
    const left = now.filter((entry) => (entry?.seq ?? 0) > after).slice(0, 200);
    return Response.json({ entries: left, last: all.length, running: 0 });
  };
  await use(id, envdAccessToken);
  return { id, asked, agent, all, again: () => use(id, envdAccessToken) };
}

test("a sandbox's log has the starts and ends of its commands, marked as the guest's word, in both forms", async () => {
  const { id } = await sandboxWith([
    { kind: "started", text: "make all", pid: 7 },
    { kind: "ended", text: "exit status 2: make all", pid: 7, exitCode: 2, ms: 31 },
    { text: "rpc failed" },
  ]);
  const [server, ...guest] = await logOf(id);
  expect(server).toMatchObject({ message: "Sandbox started from template base", fields: { logger: "boxyard" } });
  expect(guest.map(({ level, message, fields }) => ({ level, message, fields }))).toEqual([
    { level: "info", message: "Command started: make all", fields: { logger: "guest", event: "command_started", pid: "7" } },
    {
      level: "info",
      message: "Command ended: exit status 2: make all",
      fields: { logger: "guest", event: "command_ended", pid: "7", exitCode: "2", ms: "31" },
    },
    { level: "warn", message: "Agent: rpc failed", fields: { logger: "guest", event: "agent" } },
  ]);
  const { logs } = (await s.call("GET", `/sandboxes/${id}/logs`)).body;
  expect(logs.map(({ line }: { line: string }) => JSON.parse(line).logger)).toEqual(["boxyard", "guest", "guest", "guest"]);
  expect((await logOf(id, "&search=MAKE")).length).toBe(2);
  expect((await logOf(id, "&level=warn")).map(({ message }) => message)).toEqual(["Agent: rpc failed"]);
});

test("each entry is one line, however often it is read, and an agent that nobody calls is not asked", async () => {
  const { id, asked, all, again } = await sandboxWith([{ text: "one" }]);
  expect(await guestOf(id)).toEqual(["Agent: one"]);
  expect(await guestOf(id)).toEqual(["Agent: one"]);
  expect(asked).toEqual([0]);
  all.push({ text: "two" });
  await again();
  expect(await guestOf(id)).toEqual(["Agent: one", "Agent: two"]);
  expect(asked).toEqual([0, 1]);
  const idle = await s.create();
  await s.server.context.observations.logsOf(s.server.firstKey.teamId, idle.sandboxID as never, {
    direction: "forward",
    limit: 1,
    minLevel: "debug",
  });
  await s.server.guests.once();
  expect(asked).toEqual([0, 1]);
});

test("another server that adopts the sandbox reads all again and writes nothing twice", async () => {
  const { id } = await sandboxWith([{ text: "one" }]);
  await s.server.guests.once();
  const { world, config } = s;
  const agent = world.sandboxes.get(id)?.agent;
  await s.stop();
  s = await TestServer.start({ world, dataDir: config.dataDir });
  const { envdAccessToken } = (await s.call("GET", `/sandboxes/${id}`)).body;
  await use(id, envdAccessToken);
  expect(await guestOf(id)).toEqual(["Agent: one"]);
  expect(agent?.journal).toBeDefined();
});

test("what an agent can say is in the log when its sandbox was killed just after", async () => {
  const { id } = await sandboxWith([{ kind: "started", text: "last" }]);
  await s.call("DELETE", `/sandboxes/${id}`);
  expect(await guestOf(id)).toEqual(["Command started: last"]);
  expect((await logOf(id)).at(-1)?.message).toBe("Sandbox ended: it was killed on request");
});

describe("a guest that lies", () => {
  test("displaces no line of the server, and has no more lines than its share", async () => {
    const { id, all, again } = await sandboxWith([]);
    for (let round = 0; round < 8; round++) {
      all.push(...Array.from({ length: 400 }, () => ({})));
      await again();
      await s.server.guests.once();
    }
    const lines = await logOf(id, "&limit=1000");
    expect(lines[0]).toMatchObject({ message: "Sandbox started from template base" });
    const found = await s.server.context.store.sandboxLogs.read(id as never, { direction: "forward", limit: 5000, minLevel: "debug" });
    expect(found.length).toBe(1001);
    expect(found.at(-1)?.message).toBe("Agent: line 3200");
  }, 60_000);

  test("cannot write into the time before its sandbox or to come, and no secret of an address", async () => {
    const now = Date.now();
    const { id } = await sandboxWith([
      { text: "of the source that it was copied from", at: now - 3_600_000 },
      { text: "to come", at: now + 3_600_000_000 },
      { text: "git clone https://user:token@host/a \0 \ud800" },
    ]);
    expect((await guestOf(id)).toSorted()).toEqual(["Agent: git clone https://…@host/a   \ufffd", "Agent: to come"]);
    const found = (await s.call("GET", `/v2/sandboxes/${id}/logs?direction=forward&search=come`)).body.logs[0];
    expect(Date.parse(found.timestamp)).toBeLessThan(now + 600_000);
  });

  test("gives no terminal an order, and begins no line that could be the server's", async () => {
    const { id } = await sandboxWith([
      { text: "\u001b]0;title\u0007\u001b[2J x\r\n2026-11-28T00:00:00.000Z INFO Sandbox ended\u0085y\u2028z" },
      { text: "a\tb \u202edesrever\u202c \u2066isolated\u2069 \u200fz" },
    ]);
    const [orders, order] = await guestOf(id);
    expect(orders).toBe("Agent:  ]0;title  [2J x  2026-11-28T00:00:00.000Z INFO Sandbox ended y z");
    expect(order).toBe("Agent: a\tb  desrever   isolated   z");
  });

  test("shows no secret of an address that is long, or cut off", async () => {
    const address = `https://user:${"t".repeat(400)}`;
    const { id } = await sandboxWith([{ text: `git clone ${address}@host/a` }, { text: `git clone ${"x".repeat(300)} ${address}@host/a` }]);
    expect(await guestOf(id)).toEqual(["Agent: git clone https://…@host/a", `Agent: git clone ${"x".repeat(300)} https://…`]);
  });

  test.each([
    ["does not answer", () => new Promise<Response>(() => {})],
    ["answers an error", () => new Response("no", { status: 500 })],
    ["answers no journal", () => Response.json([])],
  ])("and %s keeps nobody from the server's lines", async (_what, journal) => {
    const { id, agent } = await sandboxWith([]);
    agent.journal = journal;
    expect((await logOf(id)).map(({ message }) => message)).toEqual(["Sandbox started from template base"]);
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  });
});
