import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../config.ts";

const DOCUMENT = join(import.meta.dir, "../../../../docs/several-servers.md");

test("the settings of docs/several-servers.md are those of a replica", () => {
  const [, script = ""] = /```sh\n([^`]*)```/.exec(readFileSync(DOCUMENT, "utf8")) ?? [];
  const env = Object.fromEntries([...script.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
  expect(env.BOXYARD_DRIVER).toBe("kubernetes");
  expect(readConfig(env)).toMatchObject({
    databaseUrl: "postgres://boxyard:password@database.example/boxyard",
    replicaAddress: "10.0.0.11:3000",
    trustedProxies: ["10.0.0.0/8", "127.0.0.1"],
  });
});

test("an address for the other servers needs a database that all of them use, and a port", () => {
  expect(() => readConfig({ BOXYARD_REPLICA_ADDRESS: "10.0.0.11:3000" })).toThrow("needs DATABASE_URL");
  const DATABASE_URL = "postgres://database.example/boxyard";
  expect(() => readConfig({ DATABASE_URL, BOXYARD_REPLICA_ADDRESS: "10.0.0.11" })).toThrow("HOST:PORT");
});
