import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot, content, download, openFiles, put } from "./support/files.ts";

/*
 * Files whose size is not what it seems, and transfers that end in the middle: no request may hang, and nothing may be left.
 */

setDefaultTimeout(30_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
  await asRoot(agent, "cd /home/user && : > empty && printf kept > kept && chown user:user *");
});
afterAll(() => agent.stop());

/** A request over a connection of its own, whose client reads when it is told to. */
interface Conversation {
  readonly socket: Socket;
  head: string;
  tail: string;
  received: number;
  isOver: boolean;
}

function begin(line: string, headers: Record<string, string> = {}, body: string | Uint8Array = ""): Conversation {
  const { hostname, port } = new URL(agent.baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  const conversation: Conversation = { socket, head: "", tail: "", received: 0, isOver: false };
  socket.on("data", (bytes) => {
    if (conversation.head.length < 1024) conversation.head += bytes.toString("latin1", 0, 1024);
    conversation.tail = bytes.toString("latin1", Math.max(0, bytes.length - 8));
    conversation.received += bytes.length;
  });
  socket.on("close", () => {
    conversation.isOver = true;
  });
  // These tests expect the agent to break connections off.
  socket.on("error", () => {});
  const fields = Object.entries({ Host: "agent", ...authorised(agent), ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${line} HTTP/1.1\r\n${fields.join("")}\r\n`);
  socket.write(body);
  return conversation;
}

async function until(what: string, reached: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 20_000; !(await reached()); await Bun.sleep(5)) {
    if (Date.now() > deadline) throw new Error(`not reached: ${what}`);
  }
}

describe("downloads", () => {
  const SIZE = 64 * 1024 * 1024;
  for (const [what, range, status] of [
    ["a whole file", undefined, 200],
    ["a range", `bytes=1-${SIZE - 2}`, 206],
    ["several ranges", `bytes=0-9,100-${SIZE - 2}`, 206],
    ["a whole file in place of ranges that are too much", `bytes=0-${SIZE - 2},1-`, 200],
  ] as const) {
    test(`${what} that becomes shorter while it is sent: the connection ends`, async () => {
      await asRoot(agent, `rm -f /home/user/shrinking && truncate -s ${SIZE} /home/user/shrinking`);
      const sent = begin("GET /files?path=shrinking", range === undefined ? {} : { Range: range });
      // At once: on a quick machine the whole answer could arrive before the file is made shorter.
      sent.socket.once("data", () => sent.socket.pause());
      await until("the answer has begun", () => sent.received > 0);
      await asRoot(agent, "truncate -s 4096 /home/user/shrinking");
      sent.socket.resume();
      await until("the connection has ended", () => sent.isOver);
      expect(sent.head).toStartWith(`HTTP/1.1 ${status} `);
      // The body is incomplete: fewer bytes than the head's length, or no last chunk.
      const length = /content-length: (\d+)/i.exec(sent.head)?.[1];
      if (length === undefined)
        expect([sent.head.slice(0, 400), sent.tail.endsWith("0\r\n\r\n")]).toEqual([expect.stringContaining("chunked"), false]);
      else expect(sent.received - sent.head.indexOf("\r\n\r\n") - 4).toBeLessThan(Number(length));
    });
  }

  test("a small range of a large file", async () => {
    await asRoot(agent, "cd /home/user && seq 1 100000 > numbers");
    const part = await download(agent, "numbers", { headers: { Range: "bytes=10-15" } });
    expect([part.status, part.headers.get("Content-Range"), await part.text()]).toEqual([206, "bytes 10-15/588895", "6\n7\n8\n"]);
    const head = await download(agent, "numbers", { headers: { Range: "bytes=10-15" } }, "HEAD");
    expect(head.headers.get("Content-Length")).toBe("588895");
  });

  test("files of /sys, which say they are a page, give their content", async () => {
    const path = "/sys/kernel/mm/transparent_hugepage/enabled";
    const text = `${await asRoot(agent, `cat ${path}`)}\n`;
    for (const headers of [{}, { "Accept-Encoding": "gzip" }, { Range: "bytes=0-3" }, { "If-None-Match": "*" }]) {
      const response = await download(agent, path, { headers });
      expect([response.status, response.headers.get("Content-Length"), await response.text()]).toEqual([200, String(text.length), text]);
    }
    expect((await download(agent, path, {}, "HEAD")).headers.get("Content-Length")).toBe(String(text.length));
  });

  test("an empty file has its tag and its time, and the conditions hold for it", async () => {
    const { headers } = await download(agent, "empty");
    const etag = headers.get("ETag") ?? "";
    const modified = headers.get("Last-Modified") ?? "";
    expect([etag, headers.get("Accept-Ranges")]).toEqual([expect.stringMatching(/^"[0-9a-f-]+"$/), "bytes"]);
    const status = async (given: Record<string, string>) => (await download(agent, "empty", { headers: given })).status;
    expect(await status({ "If-None-Match": etag })).toBe(304);
    expect(await status({ "If-None-Match": '"x"' })).toBe(200);
    expect(await status({ "If-Modified-Since": modified })).toBe(304);
    expect(await status({ "If-Match": '"x"' })).toBe(412);
    expect((await download(agent, "empty", {}, "HEAD")).headers.get("ETag")).toBe(etag);
  });
});

describe("uploads with a Content-Length", () => {
  for (const [what, length, type, start] of [
    ["small", 1_000, "application/octet-stream", "some of it"],
    ["large", 10_000_000, "application/octet-stream", "some of it".repeat(100_000)],
    [
      "form",
      10_000_000,
      "multipart/form-data; boundary=b",
      `--b\r\nContent-Disposition: form-data; name="file"; filename="kept"\r\n\r\n${"some of it".repeat(100_000)}`,
    ],
  ] as const) {
    test(`${what}: a sender that leaves in the middle changes nothing`, async () => {
      const before = await openFiles(agent);
      const temporary = () => asRoot(agent, "ls -A /home/user | grep -c boxyard || true");
      for (const path of ["kept", "new-directory/new"]) {
        const sent = begin(`POST /files?path=${path}`, { "Content-Type": type, "Content-Length": String(length) }, start);
        const directory = path === "kept" ? "/home/user" : "/home/user/new-directory";
        await until(
          "it is being written",
          async () => (await asRoot(agent, `ls -A ${directory} 2>/dev/null | grep -c boxyard || true`)) === "1",
        );
        sent.socket.destroy();
        await until("nothing is left of it", async () => (await temporary()) === "0" && (await openFiles(agent)) <= before);
      }
      expect([await content(agent, "kept"), await asRoot(agent, "ls -A /home/user | grep new-directory || true")]).toEqual(["kept", ""]);
      expect((await put(agent, "after", "x")).status).toBe(200);
    });
  }
});
