import { afterEach, beforeEach, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let s: TestServer;
let volume: { volumeID: string; token: string };
beforeEach(async () => {
  place = new Place();
  s = await place.boot();
  volume = (await s.call("POST", "/volumes", { name: "data", sizeMB: 8 })).body;
});
afterEach(() => place[Symbol.asyncDispose]());

const at = (part: string, query: Record<string, string>) =>
  `${s.url}/volumecontent/${volume.volumeID}/${part}?${new URLSearchParams(query)}`;
const call = (method: string, part: string, query: Record<string, string>, body?: BodyInit, token = volume.token) =>
  fetch(at(part, query), { method, headers: { Authorization: `Bearer ${token}` }, ...(body !== undefined && { body }) });
async function answer(reply: Promise<Response>): Promise<[number, unknown]> {
  const response = await reply;
  return [response.status, response.status === 204 ? undefined : await response.json()];
}

test("files are written, read, described, changed and removed", async () => {
  const [status, entry] = await answer(call("PUT", "file", { path: "/a.txt", mode: "384", uid: "7" }, "hello"));
  const date = expect.stringMatching(/^\d{4}-.*Z$/);
  const wanted = {
    name: "a.txt",
    type: "file",
    path: "/a.txt",
    size: 5,
    mode: 0o600,
    uid: 7,
    gid: 0,
    atime: date,
    mtime: date,
    ctime: date,
  };
  expect([status, entry]).toEqual([201, wanted]);
  expect(await answer(call("GET", "path", { path: "a.txt" }))).toEqual([200, wanted]);
  const read = await call("GET", "file", { path: "/a.txt" });
  expect([read.status, read.headers.get("content-length"), read.headers.get("content-type"), await read.text()]).toEqual([
    ...[200, "5", "application/octet-stream", "hello"],
  ]);
  expect(await answer(call("PATCH", "path", { path: "/a.txt" }, JSON.stringify({ mode: 0o644 })))).toEqual([
    200,
    { ...wanted, mode: 0o644 },
  ]);
  expect((await answer(call("PUT", "file", { path: "/a.txt" }, "x")))[0]).toBe(409);
  expect((await answer(call("PUT", "file", { path: "/a.txt", force: "true" }, "")))[0]).toBe(201);
  const empty = await call("GET", "file", { path: "/a.txt" });
  expect([empty.headers.get("content-length"), await empty.text()]).toEqual(["0", ""]);
  expect((await answer(call("DELETE", "path", { path: "/a.txt" })))[0]).toBe(204);
  for (const [method, part] of [
    ["GET", "path"],
    ["GET", "file"],
    ["DELETE", "path"],
    ["GET", "dir"],
  ] as const) {
    expect(await answer(call(method, part, { path: "/a.txt" }))).toEqual([404, { code: "path_not_found", message: expect.any(String) }]);
  }
});

test("directories are made, with their parents if forced, and listed", async () => {
  expect((await answer(call("POST", "dir", { path: "/a/b" })))[0]).toBe(404);
  expect((await answer(call("POST", "dir", { path: "/a/b", force: "true" })))[0]).toBe(201);
  expect((await answer(call("POST", "dir", { path: "/a" })))[0]).toBe(409);
  const paths = async (depth: string) =>
    ((await answer(call("GET", "dir", { path: "/", depth })))[1] as { path: string }[]).map(({ path }) => path);
  expect([await paths("1"), await paths("2")]).toEqual([["/a"], ["/a", "/a/b"]]);
  expect((await answer(call("PUT", "file", { path: "/none/x" }, "x")))[0]).toBe(404);
});

test("only the volume's token opens it, and errors have a text as code", async () => {
  const other = (await s.call("POST", "/volumes", { name: "other" })).body;
  for (const token of [other.token, s.apiKey, "x", volume.token.slice(1)]) {
    expect(await answer(call("GET", "dir", { path: "/" }, undefined, token))).toEqual([
      401,
      { code: "volume_token_invalid", message: expect.any(String) },
    ]);
  }
  expect((await fetch(at("dir", { path: "/" }))).status).toBe(401);
  for (const query of [{ path: "/../x" }, { path: "/x", mode: "9999" }, { path: "/x", uid: "-1" }] as Record<string, string>[]) {
    expect((await answer(call("PUT", "file", query, "x")))[0]).toBe(400);
  }
  await s.call("DELETE", `/volumes/${volume.volumeID}`);
  expect((await answer(call("GET", "dir", { path: "/" })))[0]).toBe(404);
});

test("a long body comes whole, with a length or in chunks, and one above the volume's size is refused", async () => {
  const bytes = crypto.getRandomValues(new Uint8Array(64 << 10));
  const parts = Array.from({ length: 64 }, () => bytes);
  const chunks = () =>
    new ReadableStream({
      async start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    });
  for (const [path, body] of [
    ["/length", new Blob(parts)],
    ["/chunks", chunks()],
  ] as const) {
    expect((await answer(call("PUT", "file", { path, force: "true" }, body)))[0]).toBe(201);
    const read = Buffer.from(await (await call("GET", "file", { path })).arrayBuffer());
    expect(read.equals(Buffer.concat(parts))).toBe(true);
    await call("DELETE", "path", { path });
  }
  expect((await answer(call("PUT", "file", { path: "/big" }, new Blob([...parts, ...parts, "x"]))))[0]).toBe(413);
});

test("an upload that ends early leaves nothing", async () => {
  const gone = new AbortController();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(1000));
    },
  });
  const headers = { Authorization: `Bearer ${volume.token}` };
  const sent = fetch(at("file", { path: "/half" }), { method: "PUT", headers, body, signal: gone.signal }).catch(() => "ended");
  await eventually("the write has begun", () => place.world.faults.calls.includes("volumeContent"));
  gone.abort();
  expect(await sent).toBe("ended");
  expect(await answer(call("GET", "dir", { path: "/" }))).toEqual([200, []]);
});
