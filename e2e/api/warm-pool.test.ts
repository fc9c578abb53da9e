import { afterEach, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { keptSandboxes } from "../support/ours.ts";
import { openOutside } from "../support/outside.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { figure, ONE_WARM, untilWarm } from "../support/warm.ts";

/* What a user has of a sandbox that waited before: all that one of its own making would have, and nothing of anybody before. */

const platform = usePlatform({ env: ONE_WARM });

const claims = () => figure(platform(), "boxyard_warm_claims_total");

/** A sandbox that waited, for `options`. The user before it had secrets. */
async function claimed(options: Parameters<typeof createSandbox>[1] = {}): Promise<HeldSandbox> {
  {
    await using _before = await createSandbox(platform(), { envs: { SECRET: "of-the-user-before" }, metadata: { owner: "before" } });
    await untilWarm(platform());
  }
  const before = await claims();
  const sandbox = await createSandbox(platform(), options);
  expect(await claims()).toBe(before + 1);
  return sandbox;
}

afterEach(async () => {
  await platform().restart();
  await eventually("the end of the server leaves nothing that waits", () => keptSandboxes(platform()).length === 0);
});

test("it has the request's environment, metadata and time, its own name, and the platform's variables", async () => {
  await using sandbox = await claimed({ envs: { MINE: "yes" }, metadata: { owner: "me" }, timeoutMs: 120_000 });
  const print = 'echo "$MINE|$SECRET|$(hostname)|$E2B_SANDBOX_ID|$(whoami)|$PWD"';
  const { stdout } = await sandbox.client.commands.run(print);
  expect(stdout.trim()).toBe(`yes||${sandbox.id}|${sandbox.id}|user|/home/user`);
  const info = await sandbox.client.getInfo();
  expect(info.metadata).toEqual({ owner: "me" });
  expect(info.endAt.getTime() - info.startedAt.getTime()).toBe(120_000);
  // Its start is its claim: one that counted from before would be older than this test's own create.
  expect(Date.now() - info.startedAt.getTime()).toBeLessThan(60_000);
});

test("nothing of the user before is in it: no variable of any process, no file", async () => {
  await using sandbox = await claimed();
  const search = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c of-the-user-befor[e]";
  expect((await sandbox.asRoot(search)).stdout.trim()).toBe("0");
  // The agent has started commands before: they are in no log, and nothing of them runs.
  const log = JSON.stringify((await platform().api({ path: `/v2/sandboxes/${sandbox.id}/logs` })).body);
  expect([log.includes("of-the-user-befor[e]"), log.includes("/.boxyard/launch")]).toEqual([true, false]);
  expect((await sandbox.client.commands.list()).length).toBe(0);
  const files = await sandbox.asRoot("grep -rIl of-the-user-befor[e] /run /tmp /home /root /.boxyard/host 2>/dev/null | grep -v /proc");
  expect(files.stdout.trim()).toBe("");
});

test("the request's rules of the network hold from the first command on", async () => {
  await using outside = await openOutside();
  const reach = `timeout 5 bash -c 'exec 3<>/dev/tcp/${outside.address}/${outside.port} && head -c 5 <&3' 2>&1`;
  await using open = await claimed();
  expect((await open.asRoot(reach)).stdout).toContain("hello");
  await using closed = await claimed({ allowInternetAccess: false });
  expect((await closed.asRoot(reach)).stdout).not.toContain("hello");
});

test("it keeps its files and processes over a pause, has its own boot, and two are strangers to each other", async () => {
  await using one = await claimed();
  await using two = await claimed();
  const boot = "cat /proc/sys/kernel/random/boot_id";
  const boots = await Promise.all([one, two].map(async (sandbox) => (await sandbox.asRoot(boot)).stdout.trim()));
  expect(new Set(boots).size).toBe(2);
  await one.client.files.write("/home/user/kept", "by one");
  const command = await one.client.commands.run("sleep 1000", { background: true, timeoutMs: 0 });
  await command.disconnect();
  await one.client.pause();
  await one.client.connect();
  expect(await one.client.files.read("/home/user/kept")).toBe("by one");
  expect((await one.client.commands.list()).map(({ pid }) => pid)).toContain(command.pid);
  expect(await two.client.files.exists("/home/user/kept")).toBe(false);
});

test("a server without settings has a pool", async () => {
  await platform().restart([], { BOXYARD_WARM_SANDBOXES: "" });
  await using _first = await createSandbox(platform());
  await untilWarm(platform());
  await using second = await createSandbox(platform());
  expect(await claims()).toBe(1);
  expect((await second.client.commands.run("whoami")).stdout.trim()).toBe("user");
});
