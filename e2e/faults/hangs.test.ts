import { afterEach, expect, test } from "bun:test";
import { processStat } from "@boxyard/core/node";
import { type ApiReply, eventually } from "@boxyard/testkit";
import { processesOf } from "../support/agent-process.ts";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { childrenOf, ofProcess } from "../support/processes.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { withFault } from "./injector.ts";

/*
 * Each verb while a process that the server needs never answers, because it is stopped. Each answer comes in time, is true, and says
 * whether the request can be sent again; nothing is lost or left; the same verb works afterwards. For the database see `../restart/postgres.test.ts`, for CRIU
 * `packages/driver-local/src/checkpoint/`, for registries `packages/server/src/registry/`.
 */

// Paused sandboxes keep no processes, so that a resume needs all that a resume can need.
const platform = usePlatform({ own: true, env: { BOXYARD_WAKE_CACHE_SECONDS: "0" } });
const LIMIT_MS = 40_000;
const stopped: number[] = [];
afterEach(() => {
  for (const pid of stopped.splice(0)) if (processStat(pid)?.state === "T") process.kill(pid, "SIGKILL");
});

/** Stops a process. One that is still stopped at the end of the test is killed. */
function stop(pid: number): void {
  stopped.push(pid);
  process.kill(pid, "SIGSTOP");
}

const inTime = <T>(work: Promise<T>): Promise<T | "no answer"> =>
  Promise.race([work, new Promise<"no answer">((resolve) => setTimeout(resolve, LIMIT_MS, "no answer").unref())]);
/** The status, and whether the client is told to try again. */
const status = (reply: Promise<ApiReply>) =>
  inTime(reply.then((answer) => (answer.status === 503 ? `503, ${answer.headers.has("Retry-After") ? "again" : "never"}` : answer.status)));
const AGAIN = "503, again";
const call = (method: string, path: string, body?: object) => status(platform().api({ method, path, ...(body && { body }) }));
const stateOf = async ({ id }: HeldSandbox) => ((await platform().api({ path: `/sandboxes/${id}` })).body as { state: string }).state;
const output = async (sandbox: HeldSandbox) => (await sandbox.asRoot("cat /root/mine")).stdout;

/** The helper that runs now, another one than `before`. */
const forkServer = (before?: number): Promise<number> =>
  eventually("a helper runs", () => childrenOf(platform().pid).find((pid) => pid !== before && ofProcess(pid, "comm") === "fork-server\n"));

async function sandboxes(count: number): Promise<HeldSandbox[]> {
  const made = await Promise.all(Array.from({ length: count }, () => createSandbox(platform())));
  for (const [i, sandbox] of made.entries()) await sandbox.asRoot(`echo ${i} > /root/mine`);
  return made;
}

async function onlyLeft(all: readonly HeldSandbox[]): Promise<void> {
  const ids = all.map(({ id }) => id).sort();
  await eventually("nothing else is left", () => [...new Set(keptSandboxes(platform()))].sort().join() === ids.join(), {
    withinMs: 30_000,
  });
}

test("with a helper for system calls that is stopped", async () => {
  const all = await sandboxes(6);
  const [paused, pausing, captured, forked, killed, used] = all as [
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
  ];
  expect(await paused.client.pause()).toBe(true);
  const helper = await forkServer();
  stop(helper);
  const answers = await Promise.all([
    call("POST", "/v2/sandboxes", { templateID: "base" }),
    call("POST", `/v2/sandboxes/${paused.id}/connect`, { timeout: 300 }),
    call("POST", `/sandboxes/${pausing.id}/pause`, {}),
    call("POST", `/sandboxes/${captured.id}/snapshots`, {}),
    call("POST", `/sandboxes/${forked.id}/fork`, { count: 1 }),
    call("DELETE", `/sandboxes/${killed.id}`),
    call("POST", `/sandboxes/${used.id}/timeout`, { timeout: 300 }),
    inTime(used.asRoot("echo on").then(({ stdout }) => stdout)),
  ]);
  expect(answers).toEqual([AGAIN, AGAIN, AGAIN, AGAIN, AGAIN, 204, 204, "on\n"]);
  const lives = all.filter((sandbox) => sandbox !== killed);
  await onlyLeft(lives);
  expect([await stateOf(paused), await stateOf(pausing)]).toEqual(["paused", "running"]);
  for (const sandbox of [pausing, captured, forked]) expect(await sandbox.client.pause()).toBe(true);
  // The first of these pauses has started it.
  await forkServer(helper);
  for (const sandbox of lives) {
    await sandbox.client.connect();
    expect(await output(sandbox)).toBe(`${all.indexOf(sandbox)}\n`);
    await sandbox.client.kill();
  }
}, 180_000);

test("with a runtime that stops in the middle of a create", async () => {
  const [other] = (await sandboxes(1)) as [HeldSandbox];
  const helper = await forkServer();
  // A child calls it just before it becomes the runtime.
  // Children that wait for a create are there already.
  const asked = await withFault(
    () => [helper, ...childrenOf(helper)],
    { calls: "setsid", answer: { signal: "SIGSTOP" } },
    () =>
      Promise.all([call("POST", "/v2/sandboxes", { templateID: "base" }), inTime(other.asRoot("echo on").then(({ stdout }) => stdout))]),
  );
  expect(asked).toEqual([AGAIN, "on\n"]);
  await onlyLeft([other]);
  const again = await createSandbox(platform());
  for (const sandbox of [again, other]) await sandbox.client.kill();
}, 120_000);

test("with an agent that is stopped", async () => {
  const [sandbox] = (await sandboxes(1)) as [HeldSandbox];
  const { agent } = processesOf(platform(), sandbox.id);
  stop(agent);
  const path = `/sandboxes/${sandbox.id}`;
  const command = inTime(
    sandbox.client.commands
      .run("true", { requestTimeoutMs: 2000, timeoutMs: 2000 })
      .then(() => "done")
      .catch(() => "given up"),
  );
  try {
    const answers = [
      await call("GET", path),
      await call("GET", `${path}/metrics`),
      await call("POST", `${path}/timeout`, { timeout: 300 }),
      await call("POST", `${path}/pause`, {}),
      await call("POST", `${path}/snapshots`, {}),
      await call("POST", `${path}/fork`, { count: 1 }),
    ];
    expect(answers).toEqual([200, 200, 204, "503, never", "503, never", "503, never"]);
    expect(await command).toBe("given up");
  } finally {
    process.kill(agent, "SIGCONT");
  }
  expect(await stateOf(sandbox)).toBe("running");
  expect(await output(sandbox)).toBe("0\n");
  expect(await sandbox.client.pause()).toBe(true);
  await sandbox.client.connect();
  expect(await output(sandbox)).toBe("0\n");
  expect(await call("DELETE", path)).toBe(204);
  await onlyLeft([]);
}, 120_000);
