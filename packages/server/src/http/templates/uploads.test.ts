import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let templateID = "";
beforeAll(async () => {
  s = await TestServer.start();
  templateID = (await s.call("POST", "/v3/templates", { name: "up" })).body.templateID;
});
afterAll(() => s[Symbol.asyncDispose]());

const link = async (hash: string) => s.call("GET", `/templates/${templateID}/files/${hash}`);
const kept = () => {
  const folder = join(s.config.dataFolder, "build-files");
  return readdirSync(folder).flatMap((team) => readdirSync(join(folder, team)).map((name) => join(folder, team, name)));
};

test("files are put to an address of ours, streamed to disk, and known by their hash afterwards", async () => {
  const hash = "1".repeat(64);
  const first = await link(hash);
  expect([first.status, first.body.present]).toEqual([201, false]);
  expect(first.body.url).toStartWith(`${s.url}/build-files/`);
  const bytes = new Uint8Array(3 << 20).fill(7);
  const put = await fetch(first.body.url, { method: "PUT", body: bytes });
  expect(put.status).toBe(200);
  expect(Buffer.compare(readFileSync(kept()[0] ?? ""), bytes)).toBe(0);
  const second = await link(hash);
  expect([second.body.present, typeof second.body.url]).toEqual([true, "string"]);
  expect((await fetch(second.body.url, { method: "PUT", body: "other" })).status).toBe(200);
  expect(kept().map((path) => readFileSync(path, "utf8"))).toEqual(["other"]);
});

test.each([
  ["x", 400],
  ["A".repeat(64), 400],
  ["a".repeat(63), 400],
])("a hash such as %p is refused", async (hash, status) => {
  expect((await link(hash)).status).toBe(status);
});

test("an address that was changed, or has no signature, takes nothing", async () => {
  const { url } = (await link("2".repeat(64))).body;
  const changed = [
    url.replace("2".repeat(64), "3".repeat(64)),
    url.replace(/until=\d/, "until=9"),
    url.replace(/signature=..../, "signature=AAAA"),
    url.split("?")[0],
  ];
  for (const target of changed) {
    const reply = await fetch(target, { method: "PUT", body: "x" });
    expect([reply.status, ((await reply.json()) as { code: number }).code]).toEqual([403, 403]);
  }
  expect((await fetch(url, { method: "POST", body: "x" })).status).toBe(404);
});

/** Sends a head and perhaps some of the body on a connection of its own, and gives the status line, or nothing when it is cut off. */
function raw(url: string, fields: string, body = "", cut = false): Promise<string> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n${body}`);
      if (cut) setTimeout(() => socket.destroy(), 50);
    });
    socket.on("data", (chunk) => {
      text += chunk;
      socket.destroy();
    });
    socket.on("close", () => resolve(text.split("\r\n")[0] ?? ""));
    socket.on("error", () => {});
  });
}

test("an upload needs its length, and not too much of it", async () => {
  const { url } = (await link("4".repeat(64))).body;
  expect(await raw(url, "Transfer-Encoding: chunked", "1\r\nx\r\n0\r\n\r\n")).toContain(" 411 ");
  expect(await raw(url, `Content-Length: ${2 ** 40}`)).toContain(" 413 ");
  expect((await link("4".repeat(64))).body.present).toBe(false);
});

test("an upload that breaks off leaves nothing", async () => {
  const before = kept();
  const { url } = (await link("5".repeat(64))).body;
  await raw(url, "Content-Length: 1000", "only this", true);
  const until = Date.now() + 2000;
  while (kept().length > before.length && Date.now() < until) await Bun.sleep(5);
  expect(kept()).toEqual(before);
  expect((await link("5".repeat(64))).body.present).toBe(false);
});
