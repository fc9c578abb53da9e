import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "@boxyard/spec/config";
import { readConfig } from "../config.ts";

const DOCUMENT = join(import.meta.dir, "../../../../docs/several-servers.md");

test("the settings of docs/several-servers.md are those of a replica", () => {
  const [, script = ""] = /```sh\n([^`]*)```/.exec(readFileSync(DOCUMENT, "utf8")) ?? [];
  const env = Object.fromEntries([...script.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
  expect(env.BOXYARD_DRIVER).toBe("kubernetes");
  expect(readConfig(env)).toMatchObject({
    databaseUrl: "postgres://boxyard:password@database.example/boxyard",
    replicaAddress: "10.0.0.11:3000",
    trustedProxies: ["10.0.0.5"],
  });
});

test("an address for the other servers needs a database that all of them use, and a port", () => {
  expect(() => readConfig({ BOXYARD_REPLICA_ADDRESS: "10.0.0.11:3000" })).toThrow("needs DATABASE_URL");
  const DATABASE_URL = "postgres://database.example/boxyard";
  expect(() => readConfig({ DATABASE_URL, BOXYARD_REPLICA_ADDRESS: "10.0.0.11" })).toThrow("HOST:PORT");
});

test("TLS between the servers needs a certificate and an address", () => {
  const [name, certificate] = [{ BOXYARD_REPLICA_TLS_NAME: "boxyard.internal" }, { BOXYARD_TLS_CERT: "/tls/a", BOXYARD_TLS_KEY: "/tls/b" }];
  const replica = { DATABASE_URL: "postgres://database.example/boxyard", BOXYARD_REPLICA_ADDRESS: "10.0.0.11:3443" };
  expect(() => readConfig({ ...replica, BOXYARD_REPLICA_CA: "/tls/ca" })).toThrow("BOXYARD_REPLICA_TLS_NAME: must be set too");
  expect(() => readConfig({ ...replica, ...name })).toThrow("needs BOXYARD_TLS_CERT too");
  expect(() => readConfig({ ...name, ...certificate })).toThrow("needs BOXYARD_REPLICA_ADDRESS too");
  const { replicaTls } = readConfig({ ...replica, ...name, ...certificate, BOXYARD_REPLICA_CA: "/tls/ca" });
  expect(replicaTls).toEqual({ serverName: "boxyard.internal", ca: "/tls/ca" });
});

interface Variable {
  readonly name: string;
  readonly value?: string;
}

test("the chart gives a replica only settings that there are, and its own address", () => {
  const chart = readFileSync(join(import.meta.dir, "../../../../deploy/rendered/several.yaml"), "utf8");
  const [text = ""] = chart.split(/^---$/m).filter((object) => /^kind: Deployment$/m.test(object));
  const { spec } = Bun.YAML.parse(text) as { spec: { template: { spec: { containers: [{ env: Variable[] }] } } } };
  const { env } = spec.template.spec.containers[0];
  const known: readonly string[] = [...SETTINGS.map(({ name }) => name), "POD_IP"];
  expect(env.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
  // As the kubelet fills it in.
  const values = Object.fromEntries(env.map(({ name, value }) => [name, value?.replace("$(POD_IP)", "10.1.2.3")]));
  expect(readConfig({ ...values, DATABASE_URL: "postgres://database.example/boxyard" })).toMatchObject({
    dataDir: "/data/server",
    listen: { hostname: "0.0.0.0", port: 3000 },
    replicaAddress: "10.1.2.3:3000",
    trustedProxies: ["10.0.0.0/8", "192.168.0.0/16"],
    domain: "sandboxes.example",
    publicUrl: "https://boxyard.example",
    logLevel: "debug",
  });
});
