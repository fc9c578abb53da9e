import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { eventually, type Platform, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { fault } from "../../tools/kubernetes/faults.ts";
import { Relay } from "../../tools/kubernetes/relay.ts";
import { useJsScenarios } from "../support/js-scenarios.ts";
import { ChartRelease, OF_THE_TEST, serverProcessOf } from "./chart-release.ts";
import { clusterDirectory, environment } from "./config.ts";

/*
 * Two servers of the chart over PostgreSQL, with TLS between them, on the cluster of `./boxyard test kubernetes`: a published client uses them, and a
 * sandbox answers while parts of the platform fail.
 */

const LIMIT_MS = 120_000;
const KEY = `e2b_${"7".repeat(40)}`;
/** How long the API server is away. */
const AWAY_MS = 30_000;
/** How long etcd stands still. */
const SLOW_MS = 5_000;

let postgres: TestPostgres;
let database: Relay;
let release: ChartRelease;
/** Runs through all faults. */
let bystander: Sandbox;

const options = () => ({ apiKey: KEY, apiUrl: release.url, sandboxUrl: release.url, timeoutMs: 3_600_000 });

function certificate(): Record<string, string> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-chart-"));
  try {
    const words =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=boxyard.internal";
    execFileSync("openssl", [...words.split(" "), "-addext", "subjectAltName=DNS:boxyard.internal"], { cwd: directory, stdio: "ignore" });
    const of = (name: string) => readFileSync(join(directory, name), "utf8");
    return { "tls.crt": of("tls.crt"), "tls.key": of("tls.key"), "ca.crt": of("tls.crt") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

beforeAll(async () => {
  postgres = await startPostgres();
  const { port } = new URL(await postgres.database());
  database = await Relay.open(OF_THE_TEST, () => ({ host: "127.0.0.1", port: Number(port) }));
  const url = `postgres://boxyard@${OF_THE_TEST.host}:${OF_THE_TEST.port}/test1`;
  release = await ChartRelease.install({
    "boxyard-database": { url },
    "boxyard-secrets": { "store-key": "5".repeat(64), "api-key": KEY, "admin-token": `boxyard_admin_${"6".repeat(40)}` },
    "boxyard-tls": certificate(),
  });
  bystander = await Sandbox.create(options());
}, LIMIT_MS);

afterAll(async () => {
  await release?.[Symbol.asyncDispose]();
  database?.close();
  await postgres?.[Symbol.asyncDispose]();
}, LIMIT_MS);

const answers = async () => (await bystander.commands.run("echo on")).stdout === "on\n";

/** A request on a connection to a server that has died meanwhile fails; the next one has another. */
const answersAgain = () => eventually("the sandbox answers", () => answers(), { withinMs: 60_000 });

/** New sandboxes are made and used. */
const makesAnother = () =>
  eventually(
    "another sandbox is made",
    async () => {
      const another = await Sandbox.create(options());
      const { stdout } = await another.commands.run("echo new");
      return stdout === "new\n" && (await another.kill());
    },
    { withinMs: 60_000, everyMs: 500 },
  );

/** The sandbox answers all the time, until this long has passed. */
async function answersFor(ms: number): Promise<void> {
  const from = performance.now();
  const wrong: unknown[] = [];
  const look = async () => {
    await answers().then(
      (isRight) => isRight || wrong.push("another answer"),
      (error: unknown) => wrong.push(error),
    );
    return performance.now() - from > ms;
  };
  await eventually("the time has passed", look, { withinMs: ms + LIMIT_MS, everyMs: 500 });
  expect(wrong).toEqual([]);
}

describe("npm e2b on node", () => {
  const env = () => ({ ...environment(), E2B_API_KEY: KEY, E2B_API_URL: release.url, E2B_SANDBOX_URL: release.url });
  const run = useJsScenarios({ platform: () => ({ env: env() }) as unknown as Platform, runtime: "node", client: () => "e2b" });
  test.each(["create-and-kill", "connect", "info", "list-sandboxes", "set-timeout", "commands-env", "files-write-read"])(
    "%s",
    async (scenario) => {
      const look = async () => {
        const before = await release.epoch();
        const ended = await run("scenarios", scenario, LIMIT_MS / 2);
        // On a busy machine the owner may miss its lease, and its clients are told to ask again.
        return (ended.exitCode === 0 || (await release.epoch()) === before) && ended;
      };
      expect(await eventually("no other server takes over meanwhile", look, { withinMs: LIMIT_MS - 10_000 })).toEqual({
        exitCode: 0,
        output: "",
      });
    },
    LIMIT_MS,
  );
});

test(
  "a server that is killed loses no sandbox: another one has them, and the cluster starts it again",
  async () => {
    const owner = await release.settled();
    process.kill(serverProcessOf(owner), "SIGKILL");
    await answersAgain();
    const next = await release.settled();
    expect(next.metadata.name).not.toBe(owner.metadata.name);
    await makesAnother();
  },
  LIMIT_MS,
);

test(
  "without the API server for half a minute sandboxes answer, and then new ones are made",
  async () => {
    await answersAgain();
    await fault(clusterDirectory(), "kube-apiserver", "SIGKILL");
    try {
      await answersFor(AWAY_MS);
    } finally {
      await fault(clusterDirectory(), "kube-apiserver", "start");
    }
    await makesAnother();
    expect(await answers()).toBe(true);
  },
  LIMIT_MS,
);

test(
  "containerd that is killed and started again ends no sandbox",
  async () => {
    await fault(clusterDirectory(), "containerd", "SIGKILL");
    try {
      expect(await answers()).toBe(true);
    } finally {
      await fault(clusterDirectory(), "containerd", "start");
    }
    await makesAnother();
    expect(await answers()).toBe(true);
  },
  LIMIT_MS,
);

test(
  "etcd that stands still for seconds ends no sandbox",
  async () => {
    await fault(clusterDirectory(), "etcd", "SIGSTOP");
    try {
      await answersFor(SLOW_MS);
    } finally {
      await fault(clusterDirectory(), "etcd", "SIGCONT");
    }
    await makesAnother();
    expect(await answers()).toBe(true);
  },
  LIMIT_MS,
);

test(
  "PostgreSQL that crashes and comes back: sandboxes answer meanwhile, and then changes are made",
  async () => {
    await release.settled();
    await postgres.crash();
    try {
      expect(await answers()).toBe(true);
    } finally {
      await postgres.start();
    }
    await makesAnother();
    expect(await answers()).toBe(true);
  },
  LIMIT_MS,
);
