import { expect, test } from "bun:test";
import { type BoxyardError, ConnectionError, type FileEvent, Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const create = () => Sandbox.create({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const reasonOf = async (promise: Promise<unknown>) => (await failureOf(promise).then((error) => error as BoxyardError))?.reason;

test("200 commands at once in one sandbox", async () => {
  await using sandbox = await create();
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  const results = await Promise.all(
    numbers.map((i) => sandbox.commands.run(`echo ${i}`, { timeoutMs: 120_000, requestTimeoutMs: 120_000 })),
  );
  expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((i) => `${i}\n`));
  expect(await sandbox.commands.list()).toEqual([]);
}, 120_000);

test("200 commands at once over 50 sandboxes", async () => {
  const sandboxes = await Promise.all(Array.from({ length: 50 }, create));
  try {
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const results = await Promise.all(
      numbers.map((i) => (sandboxes[i % 50] as Sandbox).commands.run(`echo ${i}`, { timeoutMs: 120_000, requestTimeoutMs: 120_000 })),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((i) => `${i}\n`));
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  }
}, 180_000);

test("a slow callback holds 20 MB of output back and loses none of it", async () => {
  await using sandbox = await create();
  let length = 0;
  let calls = 0;
  const onStdout = async (text: string) => {
    length += text.length;
    // Time alone: a callback that takes a while is what this is about.
    if (++calls % 50 === 0) await Bun.sleep(5);
  };
  await sandbox.commands.run("head -c 20000000 /dev/zero | tr '\\0' x", { onStdout, retainOutput: false });
  expect(length).toBe(20_000_000);
}, 60_000);

test("a callback that throws ends the command and reaches the caller as it is", async () => {
  await using sandbox = await create();
  const mine = new Error("mine");
  const onStdout = () => {
    throw mine;
  };
  expect(await failureOf(sandbox.commands.run("echo x; exec sleep 61.25", { onStdout }))).toBe(mine);
  await eventually("the command has ended", async () => (await sandbox.commands.list()).length === 0, { withinMs: 45_000 });
}, 60_000);

test("a server that is killed and comes back: streams say so, the command goes on and is found again", async () => {
  await using sandbox = await create();
  const command = await sandbox.commands.run("read line; echo got $line", { background: true, stdin: true, timeoutMs: 0 });
  const watched = Promise.withResolvers<unknown>();
  await sandbox.files.watchDir("/tmp", (_event: FileEvent) => {}, { timeoutMs: 0, onExit: watched.resolve });
  const waited = reasonOf(command.wait());
  await platform().kill9();
  await platform().restart();
  expect(await waited).toBe("server_restarted");
  expect(await watched.promise).toMatchObject({ name: "ConnectionError", reason: "server_restarted" });
  const again = await sandbox.commands.connect(command.pid);
  await again.sendStdin("it\n");
  expect((await again.wait()).stdout).toBe("got it\n");
}, 60_000);

test("a server that stays away is a network that failed", async () => {
  const sandbox = await create();
  const command = await sandbox.commands.run("sleep 60", { background: true });
  const waited = failureOf(command.wait());
  await platform().kill9();
  try {
    const error = await waited;
    expect(error).toBeInstanceOf(ConnectionError);
    expect((error as BoxyardError).reason).toBe("network_failed");
    expect(await reasonOf(sandbox.files.read("/etc/hostname"))).toBe("network_failed");
    expect(await reasonOf(sandbox.getInfo({ requestTimeoutMs: 1000 }))).toBe("network_failed");
  } finally {
    await platform().restart();
  }
  await sandbox.kill();
}, 60_000);
