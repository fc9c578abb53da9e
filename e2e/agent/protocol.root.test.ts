import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { mutate, rounds } from "./support/dice.ts";
import { AGENT_PID, asRoot } from "./support/files.ts";
import { callHeaders, envelope, openStream, unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const post = (path: string, headers: Record<string, string>, body: BodyInit) =>
  fetch(`${agent.baseUrl}${path}`, { method: "POST", headers: { ...authorised(agent), ...headers }, body });

describe("unary calls", () => {
  test("application/json in and out, {} for an empty message", async () => {
    const response = await unary(agent, "process.Process/List", {});
    expect([response.status, response.headers.get("content-type"), response.body]).toEqual([200, "application/json", {}]);
  });

  test("the content type may have parameters; Content-Encoding identity and Accept-Encoding are taken, answers stay plain", async () => {
    const headers = {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Encoding": "identity",
      "Accept-Encoding": "zstd,gzip,br",
    };
    const response = await post("/process.Process/List", headers, "{}");
    expect([response.status, response.headers.get("content-encoding")]).toEqual([200, null]);
  });

  test("an error is JSON with code and message under the status of the code", async () => {
    const response = await unary(agent, "process.Process/SendSignal", { process: { pid: 4_000_000 }, signal: "SIGNAL_SIGKILL" });
    expect([response.status, response.headers.get("content-type")?.split(";")[0]]).toEqual([404, "application/json"]);
    expect(Object.keys(response.body)).toEqual(["code", "message"]);
  });

  test("other codecs are 415", async () => {
    for (const type of ["application/proto", "application/grpc", "application/grpc-web+json", "text/plain", "application/connect+json"]) {
      const response = await post("/process.Process/List", { "Content-Type": type }, "{}");
      expect([response.status, response.headers.get("accept-post")]).toEqual([415, "application/json"]);
      expect(await response.json()).toEqual({
        code: "unimplemented",
        message: `the content type "${type}" is not supported here: send application/json`,
      });
    }
    for (const type of ["application/json", "application/connect+proto"]) {
      expect((await post("/process.Process/Start", { "Content-Type": type }, "{}")).status).toBe(415);
    }
  });

  test("compression is unimplemented, another protocol version invalid_argument", async () => {
    const gzip = await unary(agent, "process.Process/List", {}, { headers: { "Content-Encoding": "gzip" } });
    expect([gzip.status, gzip.body.code]).toEqual([501, "unimplemented"]);
    const version = await unary(agent, "process.Process/List", {}, { headers: { "Connect-Protocol-Version": "2" } });
    expect([version.status, version.body.code]).toEqual([400, "invalid_argument"]);
    const timeout = await unary(agent, "process.Process/List", {}, { headers: { "Connect-Timeout-Ms": "soon" } });
    expect([timeout.status, timeout.body.code]).toEqual([400, "invalid_argument"]);
  });

  test("snake_case is accepted beside lowerCamelCase, enums as numbers, unknown members ignored", async () => {
    const stat = await unary(agent, "filesystem.Filesystem/Stat", { path: "/etc/passwd", unknownMember: { deep: [1] } });
    expect(stat.body.entry).toMatchObject({ name: "passwd", path: "/etc/passwd", type: "FILE_TYPE_FILE", size: expect.any(String) });
    const created = await unary(agent, "filesystem.Filesystem/CreateWatcher", { path: "/tmp", include_entry: true });
    const removed = await unary(agent, "filesystem.Filesystem/RemoveWatcher", { watcher_id: created.body.watcherId });
    expect(removed.status).toBe(200);
  });

  test("what is not the message's JSON is invalid_argument that names the member", async () => {
    for (const body of ["{", "[]", '"x"', "nul", '{"process":1}', '{"process":{"pid":"x"}}', '{"process":{"pid":1,"tag":"a"}}']) {
      const response = await unary(agent, "process.Process/SendSignal", body);
      expect([body, response.status, response.body.code]).toEqual([body, 400, "invalid_argument"]);
    }
  });

  test("a method that does not exist is 404", async () => {
    for (const path of ["/process.Process/Nothing", "/process.Nothing/List", "/process.Process/", "/process.Process"]) {
      expect((await post(path, { "Content-Type": "application/json" }, "{}")).status).toBe(404);
    }
  });
});

describe("streams", () => {
  test("HTTP 200 application/connect+json, errors too; the last envelope has flag 2", async () => {
    const good = await start(agent, shell("true"));
    expect([good.status, good.headers.get("content-type")]).toEqual([200, "application/connect+json"]);
    const flags: number[] = [];
    for await (const received of good.envelopes) flags.push(received.flags);
    expect([flags.at(-1), flags.filter((flag) => flag === 2).length]).toEqual([2, 1]);
    const bad = await openStream(agent, "process.Process/Start", envelope({}));
    expect(bad.status).toBe(200);
    expect((await collect(bad)).error?.code).toBe("invalid_argument");
  });

  test("Connect-Content-Encoding identity is taken, other ones are unimplemented", async () => {
    expect((await run(agent, "echo ok", { headers: { "Connect-Content-Encoding": "identity" } })).stdout).toBe("ok\n");
    expect((await run(agent, "echo ok", { headers: { "Connect-Content-Encoding": "gzip" } })).error?.code).toBe("unimplemented");
  });

  test("a broken envelope is an error of the stream, never an answer missing", async () => {
    const whole = envelope(shell("true"));
    const bodies: [string, BodyInit, string][] = [
      ["nothing", new Uint8Array(0), "invalid_argument"],
      ["half a header", whole.slice(0, 3), "invalid_argument"],
      ["half a message", whole.slice(0, 20), "invalid_argument"],
      ["a compressed message", envelope(shell("true"), 1), "unimplemented"],
      ["unknown flags", envelope(shell("true"), 64), "invalid_argument"],
      ["a length of 4 GiB", new Uint8Array([0, 255, 255, 255, 255]), "resource_exhausted"],
      ["no JSON", envelope("nonsense"), "invalid_argument"],
    ];
    for (const [what, body, code] of bodies) {
      const result = await collect(await openStream(agent, "process.Process/Start", body));
      expect([what, result.error?.code, result.order]).toEqual([what, code, []]);
    }
  });

  test("every envelope is sent at once", async () => {
    // Each line is asked for only when the one before has come.
    const open = await start(agent, { process: { cmd: "cat" } });
    const process = { pid: await firstPid(open) };
    for (const line of ["one\n", "two\n", "three\n"]) {
      expect((await unary(agent, "process.Process/SendInput", { process, input: { stdin: btoa(line) } })).status).toBe(200);
      expect((await readUntil(open, (soFar) => soFar.stdout.length === line.length)).stdout).toBe(line);
    }
    await unary(agent, "process.Process/CloseStdin", { process });
    await collect(open);
  });

  test("a body that never ends does not hold the answer up", async () => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(envelope(shell("echo early"))) });
    const result = await collect(await openStream(agent, "process.Process/Start", body));
    expect(result.stdout).toBe("early\n");
  });
});

describe("hostile input, in bounded time", () => {
  /** Pipes, files, watches and all else but connections, which come and go with clients. */
  const descriptors = async () => Number(await asRoot(agent, `${AGENT_PID}; readlink /proc/$pid/fd/* | grep -vc '^socket:'`));

  test("envelopes and JSON with bytes exchanged or cut off: an answer of the contract each time, no descriptor stays open", async () => {
    await run(agent, "true");
    const before = await descriptors();
    const streams = {
      Start: { process: { cmd: "/bin/true", args: ["a"], envs: { A: "b" }, cwd: "/tmp" }, stdin: true, tag: "t" },
      Connect: { process: { pid: 4_000_000 } },
      StreamInput: { start: { process: { tag: "none" } } },
    };
    const calls = {
      "process.Process/SendInput": { process: { pid: 4_000_000 }, input: { stdin: "YWJj" } },
      "process.Process/Update": { process: { pid: 4_000_000 }, pty: { size: { cols: 80, rows: 24 } } },
      "filesystem.Filesystem/GetWatcherEvents": { watcherId: "w0123456789" },
      "filesystem.Filesystem/ListDir": { path: "/tmp", depth: 1 },
    };
    await rounds(async (dice, seed) => {
      const [name, message] = dice.pick(Object.entries(streams));
      const whole = Buffer.from(envelope(message))
        .toString("latin1")
        .repeat(1 + dice.below(3));
      const received = [];
      for await (const each of (await openStream(agent, `process.Process/${name}`, mutate(dice, whole))).envelopes) received.push(each);
      expect([seed, received.at(-1)?.flags]).toEqual([seed, 2]);
      const [method, input] = dice.pick(Object.entries(calls));
      const headers = callHeaders(agent, "application/json", {});
      const { status } = await post(`/${method}`, headers, mutate(dice, JSON.stringify(input)));
      expect([seed, method, [200, 400, 404, 501].includes(status)]).toEqual([seed, method, true]);
    });
    expect((await run(agent, "echo alive")).stdout).toBe("alive\n");
    // The pipes of the command that counts are the agent's for a moment too.
    let left = await descriptors();
    for (const deadline = Date.now() + 30_000; left > before && Date.now() < deadline; left = await descriptors()) await Bun.sleep(50);
    expect(left).toBeLessThanOrEqual(before);
  });

  test("JSON a million levels deep, and wide, is refused quickly", async () => {
    for (const text of ["[".repeat(1_000_000), '{"a":'.repeat(500_000), `{"process":{"args":[${'"x",'.repeat(200_000)}1]}}`]) {
      const startedAt = performance.now();
      expect((await collect(await openStream(agent, "process.Process/Start", envelope(text)))).error?.code).toBe("invalid_argument");
      expect(performance.now() - startedAt).toBeLessThan(20_000);
    }
  });

  test("headers that lie are refused or ignored", async () => {
    const none = ["Basic", "Basic !!!", "Bearer x"];
    for (const Authorization of [...none, `Basic ${btoa("root")}`]) {
      const { error, stdout } = await run(agent, "id -un", { headers: { Authorization } });
      expect([Authorization, error, stdout]).toEqual([Authorization, undefined, none.includes(Authorization) ? "user\n" : "root\n"]);
    }
    for (const Authorization of [`Basic ${btoa("\0:")}`, `Basic ${"A".repeat(3000)}`]) {
      expect((await run(agent, "true", { headers: { Authorization } })).error?.code).toBe("unauthenticated");
    }
    for (const interval of ["0", "-5", "x", "99999999999"]) {
      expect((await run(agent, "echo ok", { headers: { "Keepalive-Ping-Interval": interval } })).stdout).toBe("ok\n");
    }
  });

  test("an argument list beyond the kernel's bound is an error of the request", async () => {
    const result = await collect(await start(agent, { process: { cmd: "true", args: ["x".repeat(3_000_000)] } }));
    expect(result.error?.code).toBe("invalid_argument");
    expect((await run(agent, "echo alive")).stdout).toBe("alive\n");
  });
});
