import { afterAll, beforeAll, expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

interface Entry {
  readonly timestamp: string;
  readonly message: string;
  readonly level: string;
  readonly fields: Record<string, string>;
}
const messages = (entries: Entry[]) => entries.map(({ level, message }) => [level, message]);

test("a sandbox's log has its start and its end, also afterwards", async () => {
  const before = Date.now();
  const id = (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).body.sandboxID;
  const started = await s.call("GET", `/sandboxes/${id}/logs`);
  expect(messages(started.body.logEntries)).toEqual([["info", "Sandbox started from template base"]]);
  const [{ timestamp, line }] = started.body.logs;
  expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before);
  expect(JSON.parse(line)).toMatchObject({ level: "info", logger: "boxyard", message: "Sandbox started from template base", timestamp });
  await s.call("DELETE", `/sandboxes/${id}`);
  const path = `/v2/sandboxes/${id}/logs`;
  const both = await s.call("GET", path);
  const end = ["info", "Sandbox ended: it was killed on request"];
  expect(messages(both.body.logs)).toEqual([end, ["info", "Sandbox started from template base"]]);
  expect(both.body.logs[0].fields).toEqual({ logger: "boxyard", event: "ended", cause: "requested" });
  expect(messages((await s.call("GET", `${path}?direction=forward&limit=1`)).body.logs)).toEqual([both.body.logs[1]].map(pair));
  expect(messages((await s.call("GET", `${path}?search=ENDED`)).body.logs)).toEqual([end]);
  expect((await s.call("GET", `${path}?level=warn`)).body.logs).toEqual([]);
  expect((await s.call("GET", `/sandboxes/${id}/logs?start=${Date.now() + 1}`)).body).toEqual({ logs: [], logEntries: [] });
});

const pair = ({ level, message }: Entry) => [level, message];

test("an end by the machine is an error, with its cause", async () => {
  const id = (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).body.sandboxID;
  s.world.sandboxes.get(id)?.end({ reason: "out_of_memory" });
  const path = `/v2/sandboxes/${id}/logs?level=error`;
  let logs: Entry[] = [];
  for (const deadline = Date.now() + 8000; logs.length === 0 && Date.now() < deadline; ) logs = (await s.call("GET", path)).body.logs;
  expect(messages(logs)).toEqual([["error", "Sandbox ended: it ran out of memory"]]);
});

test("refusals", async () => {
  const id = newSandboxId();
  for (const path of [`/sandboxes/${id}/logs`, `/v2/sandboxes/${id}/logs`]) expect((await s.call("GET", path)).status).toBe(404);
  for (const query of ["limit=1001", "limit=-1", "limit=x", "start=-1", "start=1.5"]) {
    expect((await s.call("GET", `/sandboxes/${id}/logs?${query}`)).status).toBe(400);
  }
  for (const query of ["cursor=x", "direction=up", "level=loud", `search=${"x".repeat(257)}`]) {
    expect((await s.call("GET", `/v2/sandboxes/${id}/logs?${query}`)).status).toBe(400);
  }
});
