import { expect, test } from "bun:test";
import { DroppingLinks } from "../testing/lost-peer/dropping-links.ts";

/* Peers whose packets are dropped from some moment on. By itself the kernel holds such connections for 15 minutes and more. */

const LIMIT_MS = "3000";
const LOOPBACK = "127.0.0.1";

async function open() {
  const links = await DroppingLinks.open();
  const sandbox = links.start("sandbox", "sandbox");
  const front = links.start("machine", "front", DroppingLinks.SANDBOX, LIMIT_MS);
  await Promise.all([sandbox.says("ready"), front.says("ready")]);
  return { links, sandbox, [Symbol.asyncDispose]: () => links[Symbol.asyncDispose]() };
}

test("a request of a client that vanishes ends in the sandbox, whether bytes are on their way to the client or not", async () => {
  await using t = await open();
  const clients = ["/silent", "/stream"].map((path) => t.links.start("client", "client", DroppingLinks.MACHINE, path));
  await Promise.all([t.sandbox.says("asked /silent"), clients[1]?.says("answer 200")]);
  await t.links.drop("client");
  await Promise.all([t.sandbox.says("closed /silent"), t.sandbox.says("closed /stream")]);
}, 120_000);

test("a client that acknowledges and does not read is kept", async () => {
  await using t = await open();
  const deaf = t.links.start("machine", "client", LOOPBACK, "/stream-deaf", "deaf");
  await deaf.says("answer 200");
  // Two clients that vanish, one after the other, are the clock: by then the deaf one was silent for twice the limit.
  for (const path of ["/stream-1", "/silent-2"]) {
    const other = await open();
    await using _ = other;
    const lost = other.links.start("client", "client", DroppingLinks.MACHINE, path);
    await (path.startsWith("/stream") ? lost.says("answer 200") : other.sandbox.says(`asked ${path}`));
    await other.links.drop("client");
    await other.sandbox.says(`closed ${path}`);
  }
  expect([...deaf.lines, ...t.sandbox.lines].filter((line) => line.startsWith("closed"))).toEqual([]);
  deaf.hear();
  await deaf.says("much");
}, 180_000);

test("clients of a sandbox that vanishes get an answer or an end", async () => {
  await using t = await open();
  const waiting = t.links.start("client", "client", DroppingLinks.MACHINE, "/silent");
  const reading = t.links.start("client", "client", DroppingLinks.MACHINE, "/stream");
  await Promise.all([t.sandbox.says("asked /silent"), reading.says("answer 200")]);
  await t.links.drop("sandbox");
  await Promise.all([waiting.says("answer 502"), reading.says("closed")]);
}, 120_000);
