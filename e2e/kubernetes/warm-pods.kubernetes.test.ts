import { afterAll, beforeAll, expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { podsAtOnce } from "./config.ts";
import { apiServer, asAdministrator, PodsServer } from "./pods-server.ts";

/*
 * Pods that wait for creates, on the cluster of `./boxyard test kubernetes`. `BOXYARD_TEST_PODS=100 ./boxyard test kubernetes/warm-pods` measures many of
 * them: the figures are in the output, and in docs/performance.md.
 */

const PODS = podsAtOnce();
const LIMIT_MS = Math.max(180_000, PODS * 15_000);

let server: PodsServer;

beforeAll(async () => {
  // Many on a small machine, which is what these pods share.
  const small = { BOXYARD_KUBERNETES_CPU_REQUEST: "0.01" };
  const creates = { BOXYARD_MAX_CREATES: "32", BOXYARD_TEAM_LIMITS: "sandboxes=1000,createsPerMinute=100000,cpus=10000,memoryMB=1000000" };
  server = await PodsServer.start("warm", {
    BOXYARD_WARM_SANDBOXES: String(PODS),
    BOXYARD_WARM_LEAST: String(PODS),
    BOXYARD_WARM_MEMORY: "64G",
    ...small,
    ...creates,
  });
}, LIMIT_MS);
afterAll(() => server?.stop(), LIMIT_MS);

const waiting = () => server.figure("boxyard_warm_sandboxes");
const claims = () => server.figure("boxyard_warm_claims_total");

async function createMany(count: number): Promise<{ readonly made: Sandbox[]; readonly times: number[] }> {
  const times: number[] = [];
  const made = await Promise.all(
    Array.from({ length: count }, async () => {
      const startedAt = performance.now();
      const sandbox = await Sandbox.create({ ...server.options, requestTimeoutMs: LIMIT_MS });
      times.push(performance.now() - startedAt);
      return sandbox;
    }),
  );
  return { made, times: times.toSorted((a, b) => a - b) };
}

const killAll = (made: readonly Sandbox[]) => Promise.all(made.map((sandbox) => sandbox.kill()));

interface PodObject {
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
}

/** The labels that the server has given a sandbox. */
async function labelsOf(id: string): Promise<Readonly<Record<string, string>>> {
  const { metadata } = await asAdministrator<PodObject>("GET", `${server.pods}/sandbox-${id}`);
  return JSON.parse(metadata.annotations["boxyard.dev/spec"] ?? "").labels;
}

test(
  `${PODS} pods that wait are claimed at once, without an error, and their labels follow`,
  async () => {
    await killAll((await createMany(1)).made);
    await eventually("the pool is full", async () => (await waiting()) >= PODS, { withinMs: LIMIT_MS });
    const before = await claims();
    const { made, times } = await createMany(PODS);
    expect(await claims()).toBe(before + PODS);
    expect(new Set(made.map(({ sandboxId }) => sandboxId)).size).toBe(PODS);
    const some = made.slice(0, 4);
    const outputs = await Promise.all(some.map((sandbox) => sandbox.commands.run("echo $E2B_SANDBOX_ID")));
    expect(outputs.map(({ stdout }) => stdout.trim())).toEqual(some.map(({ sandboxId }) => sandboxId));
    for (const { sandboxId } of some) await eventually("the labels follow", async () => (await labelsOf(sandboxId)).pool === undefined);
    await killAll(made);
    const at = (part: number) => Math.round(times[Math.floor((times.length - 1) * part)] ?? 0);
    console.log(`${PODS} claims at once: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, all ${at(1)} ms`);
    const single: number[] = [];
    for (let n = 0; n < Math.min(PODS, 20); n++) {
      await eventually("one waits", async () => (await waiting()) > 0, { withinMs: 60_000 });
      const one = await createMany(1);
      single.push(...one.times);
      await killAll(one.made);
    }
    single.sort((a, b) => a - b);
    console.log(`claims one by one: p50 ${Math.round(single[Math.floor(single.length / 2)] ?? 0)} ms`);
  },
  LIMIT_MS,
);

test(
  "a claim needs no API server: with it stopped, one is answered, and the labels follow when it goes on",
  async () => {
    await eventually("one waits", async () => (await waiting()) > 0, { withinMs: 60_000 });
    const before = await claims();
    const { pid } = apiServer();
    process.kill(pid, "SIGSTOP");
    let sandbox: Sandbox;
    try {
      sandbox = await Sandbox.create(server.options);
      expect((await sandbox.commands.run("echo on")).stdout).toBe("on\n");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect(await claims()).toBe(before + 1);
    const { sandboxId } = sandbox;
    await eventually("the labels follow", async () => (await labelsOf(sandboxId)).pool === undefined, { withinMs: 60_000 });
    await sandbox.kill();
  },
  LIMIT_MS,
);

test(
  "what waits is handed out by the next server after the death of one",
  async () => {
    await eventually("one waits", async () => (await waiting()) > 0, { withinMs: 60_000 });
    await server.kill9();
    await server.boot();
    await eventually("one waits again", async () => (await waiting()) > 0, { withinMs: 60_000 });
    const sandbox = await Sandbox.create(server.options);
    expect(await claims()).toBe(1);
    expect((await sandbox.commands.run("echo on")).stdout).toBe("on\n");
    await sandbox.kill();
  },
  LIMIT_MS,
);
