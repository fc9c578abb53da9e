import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
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
  const directory = join(s.config.dataDir, "build-files");
  return readdirSync(directory).flatMap((team) => readdirSync(join(directory, team)).map((name) => join(directory, team, name)));
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

test("who waits for it is told to send once the signature has been looked at, and only then", async () => {
  const { url } = (await link("6".repeat(64))).body;
  const fields = "Content-Length: 1\r\nExpect: 100-continue";
  expect(await raw(url, fields)).toBe("HTTP/1.1 100 Continue");
  await eventually("what was cut off is gone", () => kept().every((path) => !path.endsWith(".part")));
  expect(await raw(url.replace(/signature=..../, "signature=AAAA"), fields)).toStartWith("HTTP/1.1 403 ");
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
  const until = Date.now() + 8000;
  while (kept().length > before.length && Date.now() < until) await Bun.sleep(5);
  expect(kept()).toEqual(before);
  expect((await link("5".repeat(64))).body.present).toBe(false);
});

test("files that were not used lately make room for new ones; beyond that an upload is refused, and says why", async () => {
  await using small = await TestServer.start({ env: { BOXYARD_MAX_BUILD_FILES_MIB: "2" } });
  const id = (await small.call("POST", "/v3/templates", { name: "up" })).body.templateID;
  const put = async (digit: string, mib: number) => {
    const { url } = (await small.call("GET", `/templates/${id}/files/${digit.repeat(64)}`)).body;
    const reply = await fetch(url, { method: "PUT", body: new Uint8Array(mib * 2 ** 20) });
    return [reply.status, ((await reply.json()) as { message?: string }).message];
  };
  const directory = () => join(small.config.dataDir, "build-files", readdirSync(join(small.config.dataDir, "build-files"))[0] ?? "");
  const names = () =>
    readdirSync(directory())
      .map((name) => name[0] ?? "")
      .sort()
      .join("");
  expect([await put("a", 1), await put("b", 1)]).toEqual([
    [200, undefined],
    [200, undefined],
  ]);
  expect(await put("c", 1)).toEqual([
    507,
    "The files of your builds take 2.0 MiB of 2.0 MiB, all used within the last hour; try again later",
  ]);
  expect(await put("d", 3)).toEqual([507, "The upload has 3.0 MiB, and all files of your builds together may have 2.0 MiB"]);
  const long = Date.now() / 1000 - 7200;
  utimesSync(join(directory(), `${"b".repeat(64)}.tar`), long, long);
  utimesSync(join(directory(), `${"a".repeat(64)}.tar`), long - 1, long - 1);
  expect(await put("c", 1)).toEqual([200, undefined]);
  expect(names()).toBe("bc");
});

test("what a killed server was taking is removed at the next start", async () => {
  const directory = join(s.config.dataDir, "build-files");
  const team = readdirSync(directory)[0] ?? "";
  writeFileSync(join(directory, team, `${"6".repeat(64)}.0011223344556677.part`), "half");
  await s.server.context.uploads.prune();
  expect(readdirSync(join(directory, team)).filter((name) => name.endsWith(".part"))).toEqual([]);
});
