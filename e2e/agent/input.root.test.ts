import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { staysTrueFor } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { AGENT_PID, asRoot } from "./support/files.ts";
import { envelope, openStream, unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const call = (method: string, message: object) => unary(agent, `process.Process/${method}`, message);
const stdin = (pid: number, text: string) =>
  call("SendInput", { process: { pid }, input: { stdin: Buffer.from(text).toString("base64") } });

describe("SendInput and CloseStdin", () => {
  test("stdin absent or true is a pipe that stays open until CloseStdin", async () => {
    for (const message of [{ process: { cmd: "cat" } }, { process: { cmd: "cat" }, stdin: true }]) {
      const open = await start(agent, message);
      const pid = await firstPid(open);
      expect((await stdin(pid, "one\n")).body).toEqual({});
      await readUntil(open, (soFar) => soFar.stdout === "one\n");
      await stdin(pid, "");
      await stdin(pid, "two\n");
      expect((await call("CloseStdin", { process: { pid } })).status).toBe(200);
      const result = await collect(open);
      expect([result.stdout, result.end.status]).toEqual(["two\n", "exit status 0"]);
    }
  });

  test("stdin false is /dev/null; SendInput is internal, CloseStdin succeeds", async () => {
    const open = await start(agent, shell("readlink /proc/self/fd/0; cat; sleep 1"));
    const pid = await firstPid(open);
    expect((await stdin(pid, "x")).body.code).toBe("internal");
    expect((await call("CloseStdin", { process: { pid } })).status).toBe(200);
    expect((await collect(open)).stdout).toBe("/dev/null\n");
  });

  test("CloseStdin is repeatable; SendInput after it is internal", async () => {
    const open = await start(agent, { process: { cmd: "sh", args: ["-c", "cat; sleep 1"] } });
    const pid = await firstPid(open);
    for (let i = 0; i < 2; i++) expect((await call("CloseStdin", { process: { pid } })).status).toBe(200);
    const refused = await stdin(pid, "late");
    expect([refused.status, refused.body.code]).toEqual([500, "internal"]);
    await collect(open);
  });

  test("pty to a process without one is internal, also for Update", async () => {
    const open = await start(agent, { process: { cmd: "cat" } });
    const pid = await firstPid(open);
    expect((await call("SendInput", { process: { pid }, input: { pty: "eA==" } })).body.code).toBe("internal");
    expect((await call("Update", { process: { pid }, pty: { size: { cols: 1, rows: 1 } } })).body.code).toBe("internal");
    expect((await call("Update", { process: { pid } })).status).toBe(200);
    await call("CloseStdin", { process: { pid } });
    await collect(open);
  });

  test("empty input succeeds and gives the process nothing; Update without a size does nothing", async () => {
    const open = await start(agent, { process: { cmd: "wc", args: ["-c"] } });
    const pid = await firstPid(open);
    expect((await call("SendInput", { process: { pid }, input: { stdin: "" } })).body).toEqual({});
    expect((await call("Update", { process: { pid } })).body).toEqual({});
    await call("CloseStdin", { process: { pid } });
    expect((await collect(open)).stdout).toBe("0\n");
  });

  test("an unknown pid is not_found, no selector is unimplemented, no input is invalid_argument", async () => {
    expect((await stdin(4_000_000, "x")).body).toEqual({ code: "not_found", message: "process with pid 4000000 not found" });
    expect((await call("CloseStdin", { process: { pid: 4_000_000 } })).status).toBe(404);
    for (const process of [undefined, {}]) {
      const { status, body } = await call("SendInput", { process, input: { stdin: "" } });
      expect([status, body.code]).toEqual([501, "unimplemented"]);
    }
    const open = await start(agent, { process: { cmd: "cat" } });
    const pid = await firstPid(open);
    expect((await call("SendInput", { process: { pid } })).body.code).toBe("invalid_argument");
    await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await collect(open);
  });

  test("large input arrives whole and in order; the answer comes when the process has taken it", async () => {
    const go = `/tmp/takes-input-${crypto.randomUUID()}`;
    const script = `until [ -e ${go} ]; do sleep 0.02; done; sha256sum`;
    const open = await start(agent, { process: { cmd: "sh", args: ["-c", script] } });
    const pid = await firstPid(open);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const hash = new Bun.CryptoHasher("sha256");
    let answered = 0;
    const sending = (async () => {
      for (; answered < 20; answered++) {
        hash.update(bytes);
        expect((await call("SendInput", { process: { pid }, input: { stdin: Buffer.from(bytes).toString("base64") } })).status).toBe(200);
      }
    })();
    // Far more than its pipe holds.
    await staysTrueFor(300, "the process has not taken the input, and the sender waits", () => answered < 20);
    await asRoot(agent, `touch ${go}`);
    await sending;
    await call("CloseStdin", { process: { pid } });
    expect((await collect(open)).stdout).toBe(`${hash.digest("hex")}  -\n`);
    await asRoot(agent, `rm ${go}`);
  });

  test("a process that never reads holds only its own sender up, and the sender is freed when it ends", async () => {
    const open = await start(agent, { process: { cmd: "sleep", args: ["30"] } });
    const pid = await firstPid(open);
    const waiting = call("SendInput", { process: { pid }, input: { stdin: Buffer.alloc(1_000_000).toString("base64") } });
    await staysTrueFor(100, "the agent answers", async () => (await fetch(`${agent.baseUrl}/health`)).status === 204);
    await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    expect((await waiting).body.code).toBe("internal");
    await collect(open);
  });

  test("what a process leaves running does not keep its input open, nor what waits of it, when the process has ended", async () => {
    const open = await start(agent, { process: { cmd: "sh", args: ["-c", "exec 3<&0; sleep 1123 <&3 & echo $!; exec sleep 30"] } });
    const { pid, stdout } = await readUntil(open, (soFar) => soFar.stdout.endsWith("\n"));
    const leftover = stdout.trim();
    const input = { stdin: Buffer.alloc(1_000_000).toString("base64") };
    const waiting = [1, 2].map(() => call("SendInput", { process: { pid }, input }));
    // How many descriptors of the agent are of the leftover's standard input.
    const held = () =>
      asRoot(agent, `${AGENT_PID}; pipe=$(readlink /proc/${leftover}/fd/0); readlink /proc/$pid/fd/* | grep -cF "$pipe" || :`);
    while ((await held()) === "0") await Bun.sleep(20);
    await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGTERM" });
    expect((await Promise.all(waiting)).map(({ body }) => body.code)).toEqual(["internal", "internal"]);
    expect((await collect(open)).end.status).toBe("signal: terminated");
    expect(await held()).toBe("0");
    await asRoot(agent, `kill ${leftover}`);
  });

  test("a process that has closed its input and runs on: internal, however often it is tried", async () => {
    const open = await start(agent, { process: { cmd: "sh", args: ["-c", "exec 0<&-; echo closed; exec sleep 30"] } });
    const pid = await firstPid(open);
    await readUntil(open, (soFar) => soFar.stdout === "closed\n");
    const input = { stdin: Buffer.alloc(100_000).toString("base64") };
    const answers = await Promise.all([1, 2, 3].map(() => call("SendInput", { process: { pid }, input })));
    expect(answers.map(({ body }) => body.code)).toEqual(["internal", "internal", "internal"]);
    expect((await call("SendInput", { process: { pid }, input })).body.code).toBe("internal");
    await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await collect(open);
  });
});

/** A request body that can be written bit by bit. */
function inputStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(c) {
      controller = c;
    },
  });
  const put = (bytes: Uint8Array) => controller?.enqueue(bytes);
  // An answer that came early has closed it already.
  const end = () => (controller?.desiredSize === null ? undefined : tryClose(controller));
  return { body, send: (message: unknown) => put(envelope(message)), raw: put, end };
}

function tryClose(controller: ReadableStreamDefaultController<Uint8Array> | undefined): void {
  try {
    controller?.close();
  } catch {
    // Closed by the client's own end.
  }
}

describe("StreamInput", () => {
  test("by tag, as SendInput and CloseStdin", async () => {
    const open = await start(agent, { process: { cmd: "cat" }, tag: "by-tag" });
    const process = { tag: "by-tag" };
    expect((await call("SendInput", { process, input: { stdin: btoa("sent, ") } })).body).toEqual({});
    const stream = Buffer.concat([envelope({ start: { process } }), envelope({ data: { input: { stdin: btoa("streamed") } } })]);
    expect((await collect(await openStream(agent, "process.Process/StreamInput", stream))).error).toBeUndefined();
    expect((await call("CloseStdin", { process })).body).toEqual({});
    expect((await collect(open)).stdout).toBe("sent, streamed");
    for (const method of ["SendInput", "CloseStdin"]) {
      const message = "process with tag by-tag not found";
      expect((await call(method, { process, input: { stdin: "" } })).body).toEqual({ code: "not_found", message });
    }
  });

  test("each chunk is delivered on arrival, in order; the stream's end does not close stdin", async () => {
    const open = await start(agent, { process: { cmd: "cat" } });
    const pid = await firstPid(open);
    const input = inputStream();
    const answer = openStream(agent, "process.Process/StreamInput", input.body);
    input.send({ start: { process: { pid } } });
    for (const word of ["one", "two", "three"]) {
      input.send({ data: { input: { stdin: btoa(word) } } });
      expect((await readUntil(open, (soFar) => soFar.stdout === word)).stdout).toBe(word);
      input.send({ keepalive: {} });
    }
    input.end();
    const envelopes = [];
    for await (const received of (await answer).envelopes) envelopes.push(received);
    expect(envelopes).toEqual([
      { flags: 0, message: {} },
      { flags: 2, message: {} },
    ]);
    await stdin(pid, "after");
    await readUntil(open, (soFar) => soFar.stdout === "after");
    await call("CloseStdin", { process: { pid } });
    await collect(open);
  });

  test("an envelope split over chunks is put together", async () => {
    const open = await start(agent, { process: { cmd: "cat" } });
    const pid = await firstPid(open);
    const input = inputStream();
    const answer = openStream(agent, "process.Process/StreamInput", input.body);
    const bytes = Buffer.concat([envelope({ start: { process: { pid } } }), envelope({ data: { input: { stdin: btoa("split") } } })]);
    for (const byte of bytes) {
      input.raw(new Uint8Array([byte]));
      await Bun.sleep(0);
    }
    input.end();
    expect((await collect(await answer)).error).toBeUndefined();
    await readUntil(open, (soFar) => soFar.stdout === "split");
    await call("CloseStdin", { process: { pid } });
    await collect(open);
  });

  test("an unknown pid is not_found on the first message, while the client still sends", async () => {
    const input = inputStream();
    const answer = openStream(agent, "process.Process/StreamInput", input.body);
    input.send({ start: { process: { pid: 4_000_000 } } });
    const result = await collect(await answer);
    expect(result.error).toEqual({ code: "not_found", message: "process with pid 4000000 not found" });
    input.end();
  });

  test("data before start, and no message at all, are invalid_argument", async () => {
    const early = await openStream(agent, "process.Process/StreamInput", envelope({ data: { input: { stdin: "" } } }));
    expect((await collect(early)).error?.code).toBe("invalid_argument");
    const empty = await openStream(agent, "process.Process/StreamInput", new Uint8Array(0));
    expect((await collect(empty)).error?.code).toBe("invalid_argument");
  });

  test("Connect-Timeout-Ms bounds the stream only", async () => {
    const open = await start(agent, { process: { cmd: "cat" } });
    const pid = await firstPid(open);
    const input = inputStream();
    const answer = openStream(agent, "process.Process/StreamInput", input.body, { timeoutMs: 200 });
    input.send({ start: { process: { pid } } });
    expect((await collect(await answer)).error?.code).toBe("deadline_exceeded");
    input.end();
    expect((await stdin(pid, "x")).status).toBe(200);
    await call("CloseStdin", { process: { pid } });
    await collect(open);
  });
});
