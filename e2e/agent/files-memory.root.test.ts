import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { AGENT_PID, asRoot, download, put } from "./support/files.ts";

/*
 * Large files pass through the agent and do not stay in its memory: with four times the size that it may grow by, none of them fits.
 */

setDefaultTimeout(60_000);

const MIB = 1024 * 1024;
const SIZE = 512 * MIB;
const MOST_MIB = 128;

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
  // Loads and compiles what the first requests need, before anything is measured.
  const small = await put(agent, "first", new Uint8Array(MIB));
  expect(small.status).toBe(200);
  await (await download(agent, "first")).arrayBuffer();
});
afterAll(() => agent.stop());

const status = async (field: string) => Number(await asRoot(agent, `${AGENT_PID}; awk '/^${field}:/{print $2}' /proc/$pid/status`)) / 1024;
let before = 0;
beforeEach(async () => {
  await asRoot(agent, `rm -f /home/user/large; ${AGENT_PID}; echo 5 > /proc/$pid/clear_refs`);
  before = await status("VmRSS");
});

/** The most that the agent had in memory since the test began, beside what it had then. */
const grown = async () => (await status("VmHWM")) - before;

/** `SIZE` bytes, no block of which is like another, as they are asked for. */
function* blocks(): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < SIZE; at += MIB) {
    const block = new Uint8Array(MIB);
    new DataView(block.buffer).setFloat64(0, at);
    yield block;
  }
}

function streamOf(head: string, tail: string): ReadableStream<Uint8Array> {
  const text = new TextEncoder();
  const pieces = (function* () {
    if (head) yield text.encode(head);
    yield* blocks();
    if (tail) yield text.encode(tail);
  })();
  return new ReadableStream(
    {
      pull(controller) {
        const next = pieces.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Whether what `blocks` yields has arrived: compared with a file of such blocks that has only their first bytes, and holes. */
const hasArrived = () =>
  asRoot(
    agent,
    `python3 -c '
import struct
with open("/home/user/wanted", "wb") as file:
    file.truncate(${SIZE})
    for at in range(0, ${SIZE}, ${MIB}):
        file.seek(at)
        file.write(struct.pack(">d", at))'
cmp /home/user/wanted /home/user/large && rm /home/user/wanted && echo same`,
  );

test("an upload as application/octet-stream, of known and of unknown length", async () => {
  expect((await put(agent, "large", streamOf("", ""))).status).toBe(200);
  expect(await grown()).toBeLessThan(MOST_MIB);
  expect(await hasArrived()).toBe("same");
  // A body that the test's own memory holds has a length.
  const known = new Uint8Array(SIZE);
  expect((await put(agent, "large", known)).status).toBe(200);
  expect(await grown()).toBeLessThan(MOST_MIB);
  expect(await asRoot(agent, "stat -c %s /home/user/large")).toBe(String(SIZE));
});

test("an upload as a form", async () => {
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n\r\n';
  const headers = { ...authorised(agent), "Content-Type": "multipart/form-data; boundary=b" };
  const body = streamOf(head, "\r\n--b--\r\n");
  expect((await fetch(`${agent.baseUrl}/files`, { method: "POST", headers, body })).status).toBe(200);
  expect(await grown()).toBeLessThan(MOST_MIB);
  expect(await hasArrived()).toBe("same");
});

test("downloads: plain, compressed, and of ranges", async () => {
  await asRoot(agent, `truncate -s ${SIZE} /home/user/large`);
  const count = async (headers: Record<string, string>) => {
    let bytes = 0;
    for await (const chunk of (await download(agent, "large", { headers })).body ?? []) bytes += chunk.length;
    return bytes;
  };
  expect(await count({})).toBe(SIZE);
  expect(await count({ Range: `bytes=1-` })).toBe(SIZE - 1);
  expect(await count({ Range: `bytes=0-9,20-${SIZE - 1}` })).toBeGreaterThan(SIZE);
  expect(await count({ "Accept-Encoding": "gzip" })).toBeGreaterThan(SIZE / 1100);
  expect(await grown()).toBeLessThan(MOST_MIB);
});
