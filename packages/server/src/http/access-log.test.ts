import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestServer } from "../testing/test-server.ts";

const directory = () => {
  const path = mkdtempSync(join(tmpdir(), "boxyard-access-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};
const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("the access log has a line for each request, with its caller and without paths, keys and tokens", async () => {
  using place = directory();
  const file = join(place.path, "new/access.log");
  await using s = await TestServer.start({ env: { BOXYARD_ACCESS_LOG: file } });
  const { sandboxID, envdAccessToken } = await s.create({ metadata: { private: "hidden-metadata" } });
  const key = await s.keyWith("read");
  await s.call("GET", `/sandboxes/${sandboxID}?hidden-query=1`, undefined, key);
  await s.call("GET", "/v2/sandboxes", undefined, { "X-API-Key": "e2b_00000000" });
  await s.call("GET", "/nodes", undefined, { "X-API-Key": "", "X-Admin-Token": s.adminToken });
  await s.call("GET", "/hidden-path");
  await fetch(`${s.url}/health`);
  const team = s.server.firstKey.teamId;
  const facts = { requestId: expect.any(String), ms: expect.any(Number), time: expect.any(String), address: "127.0.0.1" };
  const lines = linesOf(file);
  expect(lines).toEqual([
    { ...facts, method: "POST", route: "/v2/sandboxes", status: 201, team, by: "key", key: expect.any(String) },
    { ...facts, method: "POST", route: "/api-keys", status: 201, team, by: "key", key: lines[0].key },
    { ...facts, method: "GET", route: "/sandboxes/{sandboxID}", status: 200, team, by: "key", key: expect.any(String) },
    { ...facts, method: "GET", route: "/v2/sandboxes", status: 401 },
    { ...facts, method: "GET", route: "/nodes", status: 200, team, by: "admin" },
    { ...facts, method: "GET", status: 404 },
    { ...facts, method: "GET", route: "/health", status: 200, by: "anyone" },
  ]);
  expect(lines[2].key).not.toBe(lines[0].key);
  const text = readFileSync(file, "utf8");
  for (const secret of ["hidden", s.apiKey, key["X-API-Key"], s.adminToken, envdAccessToken, sandboxID]) expect(text).not.toContain(secret);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("without the setting there is none", async () => {
  await using s = await TestServer.start();
  await s.create();
  expect(readdirSync(s.config.dataDir).filter((name) => name.includes("access"))).toEqual([]);
});

test("the log is rotated, and keeps as many files as the setting says", async () => {
  using place = directory();
  const file = join(place.path, "access.log");
  const env = { BOXYARD_ACCESS_LOG: file, BOXYARD_LOG_MAX_MIB: "1", BOXYARD_LOG_FILES: "2" };
  await using s = await TestServer.start({ env });
  const { accessLog } = s.server.context;
  const access = { method: "GET", status: 200, ms: 1, address: "x".repeat(1000), requestId: "r" };
  for (let i = 0; i < 2500; i++) accessLog?.write(access);
  expect(readdirSync(place.path).sort()).toEqual(["access.log", "access.log.1"]);
  expect(statSync(file).size).toBeLessThan(1.1 * 2 ** 20);
});
