import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

/** Idle times of real sandboxes: what their commands and terminals do counts, and what only waits does not. */
const platform = usePlatform();
const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const LONG = 60_000;

const create = (idleTimeoutMs: number, lifecycle: { onTimeout?: "pause"; autoResume?: boolean } = {}) =>
  Sandbox.create({ ...target(), timeoutMs: 600_000, idleTimeoutMs, lifecycle });
const stateOf = async ({ sandboxId }: Sandbox) => (await Sandbox.getInfo(sandboxId, target()).catch(() => undefined))?.state;
const ends = (sandbox: Sandbox) => eventually("it has ended", async () => (await stateOf(sandbox)) === undefined, { withinMs: LONG });
const pauses = (sandbox: Sandbox) =>
  eventually("it is paused", async () => (await Sandbox.getInfo(sandbox.sandboxId, target())).pauseCause === "idle", { withinMs: LONG });
/** An idle sandbox that is younger, and may be idle for longer, ends before these do. */
const outlive = async (...sandboxes: Sandbox[]) => {
  await ends(await create(5000));
  expect(await Promise.all(sandboxes.map(stateOf))).toEqual(sandboxes.map(() => "running"));
};

test("a sandbox that nothing uses ends, also one in which a command waits; a command whose output is read keeps it", async () => {
  const sandbox = await create(4000);
  await sandbox.commands.run("sleep 600 &");
  const command = await sandbox.commands.run("exec sleep 600", { background: true, timeoutMs: 0 });
  expect((await sandbox.getInfo()).idleSince).toBeUndefined();
  await outlive(sandbox);
  await command.disconnect();
  await eventually("it is idle", async () => (await sandbox.getInfo()).idleEndAt);
  await ends(sandbox);
}, 120_000);

test("output that nobody reads, and processors that work, keep it", async () => {
  const writing = await create(4000);
  const begin = async (command: string) => (await writing.commands.run(command, { background: true, timeoutMs: 0 })).disconnect();
  await begin("for i in $(seq 17); do echo $i; sleep 0.5; done; exec sleep 600");
  const working = await create(4000);
  await (await working.commands.run("exec timeout 8 sh -c 'while :; do :; done'", { background: true, timeoutMs: 0 })).disconnect();
  await outlive(writing, working);
  await Promise.all([ends(writing), ends(working)]);
}, 180_000);

test("is paused when idle, woken by a request, kept over the death of the server, and changed while it runs", async () => {
  await using sandbox = await create(3000, { onTimeout: "pause", autoResume: true });
  await sandbox.files.write("/tmp/kept", "kept");
  await pauses(sandbox);
  expect(await sandbox.files.read("/tmp/kept")).toBe("kept");
  await platform().kill9();
  await platform().restart();
  await pauses(sandbox);
  await sandbox.resume();
  await sandbox.setIdleTimeout(undefined);
  await outlive(sandbox);
  expect((await sandbox.getInfo()).idleTimeoutMs).toBeUndefined();
  await sandbox.setIdleTimeout(2000);
  await pauses(sandbox);
}, 180_000);

test("a terminal that is open keeps it, and its keys count", async () => {
  await using sandbox = await create(4000);
  const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("true\n"));
  await outlive(sandbox);
}, 120_000);
