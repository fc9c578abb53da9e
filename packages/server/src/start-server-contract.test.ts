import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync, rmSync } from "node:fs";
import { eventually, freePort, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { TestServer } from "./testing/test-server.ts";
import { watchTimers } from "./testing/timers.ts";

/** The modules in the order of their start. A module that is missing here makes the first test fail. */
const MODULES = [
  "store",
  "logs",
  "webhooks",
  "adoption",
  "volumes",
  "recordings",
  "operations",
  "engine",
  "builds",
  "traces",
  "warm pool",
  "watches",
  "front",
];
const WHEN = ["before", "after"] as const;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

/** Files of a directory that this process has open. */
const openFiles = (directory: string): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${directory}/`) ? [path] : [];
    } catch {
      // The descriptor of this very list.
      return [];
    }
  });

describe.each(["SQLite", "PostgreSQL"])("the start of a server on %s", (kind) => {
  let first: TestServer;
  let env: Record<string, string>;
  let sandboxID: string;

  beforeAll(async () => {
    env = {
      BOXYARD_LISTEN: `127.0.0.1:${await freePort()}`,
      ...(kind === "PostgreSQL" && { DATABASE_URL: await postgres.database() }),
    };
    const seen: string[] = [];
    first = await TestServer.start({ env, startObserver: { before: (name) => void seen.push(name) } });
    ({ sandboxID } = await first.create());
    await first.stop();
    expect(seen).toEqual(MODULES);
  }, 30_000);
  afterAll(async () => {
    await first.world.clear();
    rmSync(first.config.dataDir, { recursive: true });
  });

  const again = () => ({ env, world: first.world, dataDir: first.config.dataDir });

  test.each(MODULES.flatMap((name) => WHEN.map((when) => [when, name] as const)))(
    "that fails %s %s closes all that it has opened, and the next start works",
    async (when, name) => {
      using timers = watchTimers();
      const fault = new Error(`${when} ${name}`);
      const fail = (module: string) => {
        if (module === name) throw fault;
      };
      await expect(TestServer.start({ ...again(), startObserver: { [when]: fail } })).rejects.toBe(fault);
      expect(openFiles(first.config.dataDir)).toEqual([]);
      await eventually("no timer runs", () => timers.running().length === 0).catch((error: unknown) => {
        throw new Error(timers.running().join("\n"), { cause: error });
      });

      // The same port, database and directory, with the sandbox that the first server has left.
      const server = await TestServer.start(again());
      expect(server.server.adoption).toMatchObject({ adopted: 1, removed: 0, quarantined: 0 });
      expect((await server.call("GET", `/sandboxes/${sandboxID}`)).body).toMatchObject({ state: "running" });
      await server.stop();
    },
    20_000,
  );
});
