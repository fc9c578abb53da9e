import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bootPlatform, eventually, type Platform, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { keptSandboxes } from "../support/ours.ts";
import { createSandbox } from "../support/sandbox.ts";

/** The whole platform with its store in a real PostgreSQL. */
let postgres: TestPostgres;
let platform: Platform;
let url: string;
beforeAll(async () => {
  postgres = await startPostgres();
  url = await postgres.database();
  platform = await bootPlatform({ env: { DATABASE_URL: url } });
}, 60_000);
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
}, 60_000);

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const reply = await platform.api({ method, path, headers, ...(body !== undefined && { body }) });
  // biome-ignore lint/suspicious/noExplicitAny: the test looks at arbitrary members
  return { status: reply.status, body: reply.body as any };
}

test("a sandbox goes through its life, also over restarts and kill -9, and its log shows it", async () => {
  const key = { "Idempotency-Key": `once-${crypto.randomUUID()}` };
  const wanted = { templateID: "base", metadata: { on: "postgres" } };
  const created = await call("POST", "/v2/sandboxes", wanted, key);
  expect(created.status).toBe(201);
  const { sandboxID } = created.body;
  await using sandbox = await createSandbox(platform);
  await platform.restart();
  await platform.kill9();
  await platform.restart();
  expect((await call("POST", "/v2/sandboxes", wanted, key)).body).toEqual(created.body);
  expect((await sandbox.asRoot("echo still here")).stdout).toBe("still here\n");
  expect((await call("POST", `/sandboxes/${sandboxID}/timeout`, { timeout: 1 })).status).toBe(204);
  await eventually("its time is up", async () => (await call("GET", `/sandboxes/${sandboxID}`)).status === 404);
  await eventually("its log tells why it ended", async () => {
    const { body } = await call("GET", `/v2/sandboxes/${sandboxID}/logs?direction=forward`);
    const messages = (body.logs as { message: string }[]).map(({ message }) => message);
    return messages[0]?.startsWith("Sandbox started") && messages.at(-1)?.includes("its time was up");
  });
}, 60_000);

test("a template is built, listed, tagged, used, and removed", async () => {
  const name = `pg-${crypto.randomUUID().slice(0, 8)}`;
  const requested = (await call("POST", "/v3/templates", { name })).body;
  const build = `/templates/${requested.templateID}/builds/${requested.buildID}`;
  const steps = [{ type: "RUN", args: ["printf 'a line of \\000 and more\\n'; echo built > /home/user/made"] }];
  expect((await call("POST", `/v2${build}`, { fromImage: "e2bdev/base", steps })).status).toBe(202);
  await eventually(
    "it is ready",
    async () => {
      const { body } = await call("GET", `${build}/status`);
      if (body.status === "error") throw new Error(JSON.stringify(body));
      return body.status === "ready";
    },
    { withinMs: 60_000 },
  );
  expect((await call("POST", "/templates/tags", { target: name, tags: ["v1"] })).status).toBe(201);
  expect((await call("GET", `/templates/${name}/tags`)).body).toHaveLength(2);
  {
    await using sandbox = await createSandbox(platform, {}, `${name}:v1`);
    expect((await sandbox.asRoot("cat /home/user/made")).stdout).toBe("built\n");
  }
  expect((await call("DELETE", `/templates/${name}`)).status).toBe(204);
  expect((await call("GET", "/v2/templates")).body.map((template: { aliases: string[] }) => template.aliases[0])).not.toContain(name);
}, 120_000);

test("keys are made, listed and revoked", async () => {
  const { status, body } = await call("POST", "/api-keys", { name: "pg" });
  expect(status).toBe(201);
  const withKey = () => call("GET", "/sandboxes", undefined, { "X-API-Key": body.key });
  expect((await withKey()).status).toBe(200);
  expect((await call("DELETE", `/api-keys/${body.id}`)).status).toBe(204);
  expect((await withKey()).status).toBe(401);
  expect((await call("GET", "/api-keys")).body).toHaveLength(1);
});

test("a server whose database another one has taken over ends, and its sandboxes go on", async () => {
  await using sandbox = await createSandbox(platform);
  const { pid } = platform;
  const other = new SQL(url, { max: 1 });
  try {
    const look = () => other`SELECT pid, classid::int AS space, objid::bigint AS key FROM pg_locks WHERE locktype = 'advisory'`;
    const held = await eventually("the server has the lock", async () => (await look())[0]);
    const key = Number(BigInt.asIntN(32, BigInt(held.key)));
    await other`SELECT pg_terminate_backend(${held.pid})`;
    await other`SELECT pg_advisory_lock(${held.space}, ${key})`;
    await eventually("it has ended", () => descriptorsOf(pid) === 0);
    const log = readFileSync(join(platform.dataDir, "test-server.log"), "utf8");
    expect(log.slice(-3000)).toContain("is working on the database of DATABASE_URL");
  } finally {
    await other.close();
  }
  await platform.restart();
  expect((await sandbox.asRoot("echo on")).stdout).toBe("on\n");
}, 60_000);

test("while the database is away sandboxes go on and the API says so; then all is well again", async () => {
  await using sandbox = await createSandbox(platform);
  await postgres.crash();
  const refused = await call("POST", "/v2/sandboxes", { templateID: "base" });
  expect([refused.status, refused.body.code]).toEqual([503, 503]);
  expect((await sandbox.asRoot("echo on")).stdout).toBe("on\n");
  await postgres.start();
  await eventually("creates work again", async () => {
    const { status, body } = await call("POST", "/v2/sandboxes", { templateID: "base", timeout: 60 });
    if (status === 201) await call("DELETE", `/sandboxes/${body.sandboxID}`);
    return status === 201;
  });
  await eventually("nothing else is kept", () => new Set(keptSandboxes(platform)).size === 1);
}, 60_000);

/** A process that has ended and whose parent has not looked yet has no descriptors. */
function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

test("a database that hangs stops neither kill nor expiry, and learns of both when it goes on", async () => {
  const killed = await createSandbox(platform);
  const expiring = await createSandbox(platform, { timeoutMs: 4_000 });
  postgres.hang();
  try {
    expect((await call("DELETE", `/sandboxes/${killed.id}`)).status).toBe(204);
    await eventually("the machine holds nothing of either", () => keptSandboxes(platform).length === 0, { withinMs: 60_000 });
    const refused = await call("POST", "/v2/sandboxes", { templateID: "base" });
    expect([refused.status, refused.body.code]).toEqual([503, 503]);
  } finally {
    postgres.proceed();
  }
  await eventually("creates work again", async () => {
    const { status, body } = await call("POST", "/v2/sandboxes", { templateID: "base" });
    return status === 201 && (await call("DELETE", `/sandboxes/${body.sandboxID}`)).status === 204;
  });
  const sql = new SQL(url);
  const stateOf = async (id: string) => (await sql`SELECT state FROM sandboxes WHERE id = ${id}`)[0]?.state as string;
  await eventually(
    "the store knows of both ends",
    async () => (await stateOf(killed.id)) === "dead" && (await stateOf(expiring.id)) === "dead",
    {
      withinMs: 60_000,
    },
  );
  await sql.close();
}, 180_000);
