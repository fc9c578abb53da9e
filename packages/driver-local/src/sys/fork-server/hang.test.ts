import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStat } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { buildHelper } from "../../testing/build-helper.ts";
import { ChildProgram, ForkServer, type ForkServerEnd } from "./index.ts";

setDefaultTimeout(30_000);
/** With it a working helper has 2 s to answer, enough on a busy machine. */
const LOOK_MS = 200;
/** For a helper that does not answer any more. */
const SHORT_LOOK_MS = 20;
/** A helper without an answer is killed at this check. */
const LAST_LOOK = 11;
const path = buildHelper("fork-server");
const work = mkdtempSync(join(tmpdir(), "boxyard-hang-"));
const open: ForkServer[] = [];
const stopped: number[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
  // A stopped helper that was not killed does not notice the close.
  for (const pid of stopped.splice(0)) if (processStat(pid)?.state === "T") process.kill(pid, "SIGKILL");
});
afterAll(() => rmSync(work, { recursive: true }));

function fresh({ lookMs = LOOK_MS, onEnd }: { lookMs?: number; onEnd?: (why: ForkServerEnd) => void } = {}): ForkServer {
  const server = new ForkServer(path, onEnd, lookMs);
  open.push(server);
  return server;
}

function shell(script: string): ChildProgram {
  const program = new ChildProgram();
  program.execute("/bin/sh", ["-c", script], { PATH: "/usr/bin:/bin" });
  return program;
}

/** Stops the current helper. */
function stop(server: ForkServer): number {
  const pid = server.pid as number;
  stopped.push(pid);
  process.kill(pid, "SIGSTOP");
  return pid;
}

const failureOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error);

test("a helper that is stopped is killed: pending orders fail, and the next order starts another helper", async () => {
  const ends: ForkServerEnd[] = [];
  const server = fresh({ onEnd: (why) => ends.push(why) });
  expect(await server.run(shell("exit 3"))).toBe(3);
  const parked = server.park(new ChildProgram());
  await eventually("a parked child", () => parked.isReady());
  const pid = stop(server);
  expect(await failureOf(server.run(shell("exit 4")))).toMatchObject({ code: "unavailable", reason: "fork_server_ended" });
  expect(ends).toEqual(["hung"]);
  await eventually("its end", () => processStat(pid) === undefined);
  expect(parked.isGone()).toBe(true);
  expect(await server.run(shell("exit 5"))).toBe(5);
});

test("a parked child of a helper that is stopped can be discarded", async () => {
  // No caller waits for it before it is stopped.
  const server = fresh({ lookMs: SHORT_LOOK_MS });
  const parked = server.park(new ChildProgram());
  await eventually("a parked child", () => parked.isReady());
  stop(server);
  await parked.discard();
  expect(parked.isGone()).toBe(true);
});

test("a program may run much longer than the time that a helper has to answer", async () => {
  const server = fresh();
  const { pid } = server;
  const file = join(work, "go");
  const long = server.run(shell(`while [ ! -e ${file} ]; do sleep 0.01; done; exit 6`));
  // Time alone: longer than the time that a helper has to answer.
  await Bun.sleep((LAST_LOOK + 2) * LOOK_MS);
  expect(existsSync(file)).toBe(false);
  await Bun.write(file, "");
  expect([await long, server.pid]).toEqual([6, pid]);
});

test("a child that takes longer than its limit is killed, and the error says so", async () => {
  const server = fresh();
  const hung = { code: "unavailable", reason: "child_hung" };
  expect(await failureOf(server.run(shell("kill -STOP $$"), { limitMs: 100 }))).toMatchObject(hung);
  expect(await server.run(shell("exit 7"), { limitMs: 60_000 })).toBe(7);
});
