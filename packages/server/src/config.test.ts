import { expect, test } from "bun:test";
import { readConfig } from "./config.ts";
import { printable } from "./shown-config.ts";

test("a variable that is unset or empty has its default", () => {
  expect(readConfig({ BOXYARD_LISTEN: "", UNRELATED: "1" })).toMatchObject({
    dataDir: "/var/lib/boxyard",
    listen: { hostname: "127.0.0.1", port: 3000 },
    domain: undefined,
    publicUrl: undefined,
    peerTimeoutSeconds: 60,
    maxSandboxes: 2000,
    teamLimits: { sandboxes: 2000, builds: 20, timeoutHours: 24 },
  });
  const set = { BOXYARD_TEAM_LIMITS: "sandboxes=5, builds=2", BOXYARD_MAX_TIMEOUT_HOURS: "48" };
  expect(readConfig(set).teamLimits).toMatchObject({ sandboxes: 5, builds: 2, timeoutHours: 48, cpus: 16_000 });
  expect(readConfig({ BOXYARD_LISTEN: "[::1]:0" }).listen).toEqual({ hostname: "::1", port: 0 });
});

test.each([
  [{ BOXYARD_LISTEN: "3000" }, "BOXYARD_LISTEN: must be ADDRESS:PORT, such as 127.0.0.1:3000"],
  [{ BOXYARD_LISTEN: "a:70000" }, "BOXYARD_LISTEN: must be ADDRESS:PORT, such as 127.0.0.1:3000"],
  [{ BOXYARD_PUBLIC_URL: "boxyard.example" }, "BOXYARD_PUBLIC_URL: must be an address such as https://boxyard.example"],
  [{ BOXYARD_PUBLIC_URL: "ftp://boxyard.example" }, "BOXYARD_PUBLIC_URL: must be an address such as https://boxyard.example"],
  [
    { BOXYARD_PUBLIC_URL: "https://boxyard.example/path" },
    "BOXYARD_PUBLIC_URL: must be a scheme and a host, with a port if need be, and nothing behind it",
  ],
  [{ BOXYARD_DOMAIN: "https://x" }, "BOXYARD_DOMAIN: must be a host name, with a port if need be"],
  [{ BOXYARD_MAX_SANDBOXES: "many" }, "BOXYARD_MAX_SANDBOXES: must be a number"],
  [{ BOXYARD_TEAM_LIMITS: "sandboxen=1" }, "BOXYARD_TEAM_LIMITS: must be NAME=NUMBER, separated by commas; the names are sandboxes, cpus"],
  [{ BOXYARD_MAX_CREATES: "0" }, "BOXYARD_MAX_CREATES: must be at least 1"],
  [{ DATABASE_URL: "mysql://x" }, "DATABASE_URL: must begin with postgres://"],
])("%p is refused by name", (env, message) => {
  expect(() => readConfig(env as Record<string, string>)).toThrow(message);
});

test("neither the database's password nor the headers for a collector are shown", () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://u:secret@localhost:4318", OTEL_EXPORTER_OTLP_HEADERS: "authorization=secret" };
  expect(JSON.stringify(printable(readConfig({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" })))).not.toContain("secret");
  expect(JSON.stringify(readConfig({ ...env, DATABASE_URL: "postgres://u:secret@h/d" }).given)).not.toContain("secret");
  expect(JSON.stringify(printable(readConfig({ DATABASE_URL: "postgres://u:secret@h/d" })))).not.toContain("secret");
});
