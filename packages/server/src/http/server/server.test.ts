import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestServer } from "../../testing/test-server.ts";

let looks = 0;
let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start({
    env: { BOXYARD_MAX_SANDBOXES: "3", BOXYARD_LOG_FILES: "7", OTEL_EXPORTER_OTLP_ENDPOINT: "http://user:hidden@127.0.0.1:9" },
    fingerprint: async () => {
      looks += 1;
      return { checks: [{ name: "disk", status: "warn" as const, found: "little is free", fix: "make room" }] };
    },
  });
});
afterAll(() => s[Symbol.asyncDispose]());

const server = async () => (await s.call("GET", "/boxyard/server")).body;

test("the server says how it is, how many more sandboxes fit, and what it has refused", async () => {
  expect(await server()).toMatchObject({
    verdict: "warn",
    sandboxes: { running: 0, paused: 0, starting: 0 },
    room: { sandboxes: 3, shortOf: "places" },
    latencies: [],
    limitsMet: [],
  });
  for (let i = 0; i < 3; i++) await s.create();
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  const seen = await server();
  expect(seen).toMatchObject({ sandboxes: { running: 3 }, room: { sandboxes: 0, shortOf: "places" } });
  expect(seen.createsPerMinute.reduce((sum: number, count: number) => sum + count, 0)).toBe(3);
  expect(seen.latencies).toMatchObject([{ change: "create", count: 3, failed: 0 }]);
  expect(seen.limitsMet).toMatchObject([{ limit: "BOXYARD_MAX_SANDBOXES", count: 1 }]);
  expect(seen.checks.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual([
    ["disk", "warn"],
    ["store", "ok"],
    ["orphans", "ok"],
  ]);
  // However often one asks, the machine is looked at once a minute.
  expect(looks).toBe(1);
});

test("settings with their values and where these come from, without what is secret", async () => {
  const file = join(s.config.dataDir, "service.env");
  writeFileSync(file, 'BOXYARD_LOG_FILES="7"\nBOXYARD_LOG_MAX_MIB="5"\n');
  const { body } = await s.call("GET", "/boxyard/settings");
  const of = (name: string) => body.settings.find((one: { name: string }) => one.name === name);
  expect(of("BOXYARD_MAX_SANDBOXES")).toMatchObject({ value: "3", origin: "environment" });
  expect(of("BOXYARD_LOG_FILES")).toMatchObject({ value: "7", origin: "file", file });
  // The file has another value for it, but this server was started without it.
  expect(of("BOXYARD_LOG_MAX_MIB")).toMatchObject({ value: "10", origin: "default" });
  expect(of("BOXYARD_DATA")).toMatchObject({ value: s.config.dataDir });
  expect(of("BOXYARD_MAX_CREATES").value).toMatch(/^\d+$/);
  expect(of("OTEL_EXPORTER_OTLP_ENDPOINT").value).toBe("(set)");
  expect([JSON.stringify(body).includes("hidden"), of("BOXYARD_API_KEY")]).toEqual([false, undefined]);
});

test("a team sees its own limits with its use, and whether they are its own", async () => {
  const { teamID, headers } = await s.team("research");
  await s.call("PATCH", `/admin/teams/${teamID}`, { limits: { sandboxes: 5 } });
  const { body } = await s.call("GET", "/boxyard/team", undefined, headers);
  expect(body).toMatchObject({ teamID, slug: "research", limits: { sandboxes: { value: 5, used: 0, origin: "team" } } });
  const own = (await s.call("GET", "/boxyard/team")).body.limits;
  expect(own.sandboxes).toEqual({ value: 2000, used: 3, origin: "server" });
  expect([own.cpus.used, own.memoryMB.used, own.diskMB.used, own.templates.used, own.createsPerMinute.used]).toEqual([
    6, 3072, 30_720, 1, 3,
  ]);
  expect(own.timeoutHours).toEqual({ value: 24, origin: "server" });
});
