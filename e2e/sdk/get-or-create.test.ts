import { afterEach, expect, test } from "bun:test";
import { Sandbox, type SandboxNamedOpts } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

/** Sandboxes by name through our client, on the real server and driver. Faults of the server at each step of a create: names.test.ts of the server, every-step.test.ts. */
const platform = usePlatform();
const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const get = (opts: Partial<SandboxNamedOpts> = {}) => Sandbox.getOrCreate({ name: "web", ...target(), requestTimeoutMs: 120_000, ...opts });
const count = async (sandbox: Sandbox) => (await sandbox.commands.run("cat /tmp/count")).stdout.trim().length;
const add = async (sandbox: Sandbox) => void (await sandbox.commands.run("echo -n x >> /tmp/count"));

afterEach(async () => {
  for await (const { sandboxId } of Sandbox.list(target())) await Sandbox.kill(sandboxId, target());
});

test("a hundred callers at once get one sandbox, in which onCreate has run once and to its end", async () => {
  const onCreate = async (sandbox: Sandbox) => {
    await add(sandbox);
    // The others wait meanwhile.
    for (let i = 0; i < 20; i++) await sandbox.commands.run("true");
    await sandbox.commands.run("touch /tmp/ready");
  };
  const all = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const sandbox = await get({ onCreate });
      return [sandbox.sandboxId, await sandbox.files.exists("/tmp/ready")] as const;
    }),
  );
  expect(new Set(all.map(([id]) => id)).size).toBe(1);
  expect(all.every(([, isReady]) => isReady)).toBe(true);
  expect(await count(await get({ onCreate }))).toBe(1);
}, 120_000);

test("a paused one is resumed, with its memory, and onResume runs; a killed one is replaced, and the old handle says so", async () => {
  const first = await get({ onCreate: add });
  await first.pause();
  let resumed = 0;
  const second = await get({ onCreate: add, onResume: () => void resumed++ });
  expect([second.sandboxId, resumed, await count(second)]).toEqual([first.sandboxId, 1, 1]);

  await first.kill();
  const third = await get({ onCreate: add });
  expect(third.sandboxId).not.toBe(first.sandboxId);
  const replaced = { reason: "sandbox_replaced" };
  await expect(first.commands.run("touch /tmp/wrong")).rejects.toMatchObject(replaced);
  await expect(first.files.write("/tmp/wrong", "x")).rejects.toMatchObject(replaced);
  await expect(first.setTimeout(1000)).rejects.toMatchObject(replaced);
  await expect(first.pause()).rejects.toMatchObject(replaced);
  expect(await third.files.exists("/tmp/wrong")).toBe(false);
  await Sandbox.rename(third.sandboxId, "api", target());
  expect((await third.getInfo()).sandboxName).toBe("api");
  expect((await get({ name: "api" })).sandboxId).toBe(third.sandboxId);
}, 60_000);

test("a creator that fails, or whose program is killed, leaves no sandbox, and the next caller creates", async () => {
  const failing = get({
    onCreate: () => {
      throw new Error("not today");
    },
  });
  await expect(failing).rejects.toThrow("not today");

  const program = `
    import { Sandbox } from ${JSON.stringify(import.meta.resolve("@boxyard/sdk"))};
    await Sandbox.getOrCreate({ name: "web", onCreate: () => { console.log("preparing"); return new Promise(() => setInterval(() => {}, 1000)); } });`;
  const env = { ...platform().env, BOXYARD_API_URL: platform().apiUrl, BOXYARD_API_KEY: platform().apiKey };
  const creator = Bun.spawn([process.execPath, "-e", program], { env, stdout: "pipe", stderr: "inherit" });
  for await (const text of creator.stdout) if (Buffer.from(text).toString().includes("preparing")) break;
  creator.kill("SIGKILL");
  await creator.exited;
  const waiting = get({ onCreate: add });
  const held = (await platform().api({ path: "/sandboxes/by-name/web" })).body as { sandboxID: string };
  expect((await waiting).sandboxId).not.toBe(held.sandboxID);
  expect(await count(await waiting)).toBe(1);
  await eventually("the half prepared one is gone", async () => (await Sandbox.list(target()).nextItems()).length === 1);
}, 120_000);

test("kill -9 of the server between create and the end of onCreate loses nothing: the creator goes on, and others get its sandbox", async () => {
  const sandbox = await get({
    onCreate: async (made) => {
      await add(made);
      await platform().kill9();
      await platform().restart();
    },
  });
  const other = await get({ onCreate: add });
  expect([other.sandboxId, await count(other)]).toEqual([sandbox.sandboxId, 1]);
}, 60_000);
