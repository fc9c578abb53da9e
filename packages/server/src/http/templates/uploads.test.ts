import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
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

test("files are put to an address of the server, streamed to disk, and found by their hash afterwards", async () => {
  const hash = "1".repeat(64);
  const first = await link(hash);
  expect([first.status, first.body.present]).toEqual([201, false]);
  expect(first.body.url).toStartWith(`${s.url}/build-files/`);
  const bytes = randomBytes(3 << 20);
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

test("a put to an address that was changed, or has no signature, is refused", async () => {
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

test("a client that waits for 100 Continue gets it once the signature is checked, and not before", async () => {
  const { url } = (await link("6".repeat(64))).body;
  const fields = "Content-Length: 1\r\nExpect: 100-continue";
  expect(await raw(url, fields)).toBe("HTTP/1.1 100 Continue");
  await eventually("what was cut off is gone", () => kept().every((path) => !path.endsWith(".part")));
  expect(await raw(url.replace(/signature=..../, "signature=AAAA"), fields)).toStartWith("HTTP/1.1 403 ");
});

/** Sends a head and a body on a connection of its own, and gives the status line. */
function raw(url: string, fields: string, body = ""): Promise<string> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n${body}`);
    });
    socket.on("data", (chunk) => {
      text += chunk;
      socket.destroy();
    });
    socket.on("close", () => resolve(text.split("\r\n")[0] ?? ""));
    socket.on("error", () => {});
  });
}

test("an upload needs a length that is not too large", async () => {
  const { url } = (await link("4".repeat(64))).body;
  expect(await raw(url, "Transfer-Encoding: chunked", "1\r\nx\r\n0\r\n\r\n")).toContain(" 411 ");
  expect(await raw(url, `Content-Length: ${2 ** 40}`)).toContain(" 413 ");
  expect((await link("4".repeat(64))).body.present).toBe(false);
});

test("an upload that breaks off leaves nothing", async () => {
  const before = kept();
  const { pathname, search } = new URL((await link("5".repeat(64))).body.url);
  const socket = connect(s.port, "127.0.0.1");
  socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly this`);
  await eventually("the upload has begun", () => kept().length > before.length);
  socket.destroy();
  await eventually("its part is removed", () => kept().length === before.length);
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

test("a partial upload that a killed server left is removed at the next start", async () => {
  const directory = join(s.config.dataDir, "build-files");
  const team = readdirSync(directory)[0] ?? "";
  writeFileSync(join(directory, team, `${"6".repeat(64)}.0011223344556677.part`), "half");
  await s.server.context.uploads.prune();
  expect(readdirSync(join(directory, team)).filter((name) => name.endsWith(".part"))).toEqual([]);
});
