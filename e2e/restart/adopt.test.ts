import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, eventually, readTestConfig, runProgram, SERVER_PROGRAMS } from "@boxyard/testkit";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox, reconnect } from "../support/sandbox.ts";
import { serverEnds } from "../support/server-ends.ts";

const platform = usePlatform();

interface Listed {
  readonly sandboxID: string;
  readonly endAt: string;
}

async function list(): Promise<Listed[]> {
  return (await platform().api({ path: "/v2/sandboxes" })).body as Listed[];
}

/** A command that counts, into its output and into a file, from when nobody listens any more until its sandbox ends. */
const COUNT = "until [ -e /tmp/go ]; do sleep 0.02; done; i=0; while :; do i=$((i+1)); echo $i; echo $i > /tmp/count; sleep 0.1; done";
const countOf = async (sandbox: HeldSandbox) => Number((await sandbox.asRoot("cat /tmp/count")).stdout);

for (const [name, end] of Object.entries(serverEnds(platform))) {
  test(`after ${name} a running sandbox answers, its command goes on, and its output is still there`, async () => {
    await using sandbox = await createSandbox(platform(), { metadata: { kept: "yes" } });
    const command = await sandbox.client.commands.run(COUNT, { background: true, timeoutMs: 0 });
    await command.disconnect();
    await sandbox.asRoot("touch /tmp/go");
    await eventually("it counts", async () => (await countOf(sandbox)) > 3);
    const before = (await list()).find(({ sandboxID }) => sandboxID === sandbox.id);

    await end();

    expect((await list()).find(({ sandboxID }) => sandboxID === sandbox.id)).toEqual(before);
    const seen = await countOf(sandbox);
    expect(seen).toBeGreaterThan(3);
    await eventually("it goes on counting", async () => (await countOf(sandbox)) > seen + 3);
    let output = "";
    const again = await sandbox.client.commands.connect(command.pid, {
      onStdout: (text) => {
        output += text;
      },
    });
    const numbers = () => output.trim().split("\n").map(Number);
    await eventually("its output arrives, and more of it", () => numbers().length > seen + 6);
    // From the first one on, which it wrote before the end of the server: none is missing, none came twice.
    expect(numbers()).toEqual(numbers().map((_, index) => index + 1));
    expect(await again.kill()).toBe(true);
    expect(await sandbox.client.isRunning()).toBe(true);
  });
}

test("sandboxes whose state files were damaged meanwhile go on as all others do", async () => {
  await using one = await createSandbox(platform());
  await using two = await createSandbox(platform());
  await using other = await createSandbox(platform());
  await using both = await createSandbox(platform());
  const copyOf = ({ id }: HeldSandbox) => join(platform().dataDir, "sandboxes", id, "state.copy.json");
  const fileOf = ({ id }: HeldSandbox) => join(platform().dataDir, "sandboxes", id, "state.json");
  await platform().kill9();
  writeFileSync(fileOf(one), readFileSync(fileOf(one), "utf8").slice(0, 100));
  rmSync(fileOf(two));
  mkdirSync(fileOf(two));
  const orphans = join(platform().dataDir, "orphans.json");
  const whole = readFileSync(fileOf(both), "utf8");
  for (const file of [fileOf(both), copyOf(both)]) writeFileSync(file, "{}");
  await platform().restart();
  for (const sandbox of [one, two, other]) expect((await sandbox.asRoot("echo here")).stdout).toBe("here\n");
  // One of which nothing is known any more is frozen and kept, until somebody brings the file back.
  const inQuarantine = () => existsSync(orphans) && readFileSync(orphans, "utf8").includes(both.id);
  expect(inQuarantine()).toBe(true);
  expect(keptSandboxes(platform())).toContain(both.id);
  writeFileSync(fileOf(both), whole);
  await eventually("it is adopted", () => !inQuarantine(), { withinMs: 25_000 });
  expect((await both.asRoot("echo here")).stdout).toBe("here\n");
}, 60_000);

/** Sandboxes in each of which a command counts. */
async function counting(n: number): Promise<HeldSandbox[]> {
  return Promise.all(
    Array.from({ length: n }, async () => {
      const sandbox = await createSandbox(platform());
      const command = await sandbox.client.commands.run(COUNT, { background: true, timeoutMs: 0 });
      await command.disconnect();
      await sandbox.asRoot("touch /tmp/go");
      await eventually("it counts", async () => (await countOf(sandbox)) > 1);
      return sandbox;
    }),
  );
}

async function expectCounting(sandboxes: readonly HeldSandbox[]): Promise<void> {
  expect((await list()).map(({ sandboxID }) => sandboxID).sort()).toEqual(sandboxes.map(({ id }) => id).sort());
  await Promise.all(
    sandboxes.map(async (sandbox) => {
      const seen = await countOf(sandbox);
      await eventually("it goes on counting", async () => (await countOf(sandbox)) > seen);
    }),
  );
}

test("a lost node-id and instance.json cost no sandbox", async () => {
  const sandboxes = await counting(3);
  await platform().stop();
  for (const name of ["node-id", "instance.json"]) rmSync(join(platform().dataDir, name));
  await runProgram([process.execPath, SERVER_PROGRAMS.plain, "setup"], {
    cwd: CHECKOUT,
    env: { ...readTestConfig().env, BOXYARD_DATA: platform().dataDir },
    limitMs: 60_000,
  });
  await platform().restart();
  await expectCounting(sandboxes);
  for (const sandbox of sandboxes) await sandbox.client.kill();
}, 60_000);

test("when the store is lost no sandbox is: the server refuses to start, and --adopt-orphans makes 9 of 9 records again", async () => {
  const { dataDir } = platform();
  const before = await counting(9);
  await platform().stop();
  const aside = join(dataDir, "test-aside");
  const move = (from: string, to: string) => {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) if (name.startsWith("boxyard.db")) renameSync(join(from, name), join(to, name));
  };
  move(dataDir, aside);
  try {
    await expect(platform().restart()).rejects.toThrow("--adopt-orphans");
    await platform().restart(["--adopt-orphans"]);
    const sandboxes = await Promise.all(before.map((sandbox) => reconnect(platform(), sandbox.id)));
    await expectCounting(sandboxes);
    const [some] = sandboxes as [HeldSandbox];
    expect(await some.client.pause()).toBe(true);
    const [resumed] = [await reconnect(platform(), some.id)];
    await expectCounting([resumed, ...sandboxes.slice(1)]);
    for (const sandbox of sandboxes) await sandbox.client.kill();
  } finally {
    await platform().stop();
    for (const name of readdirSync(dataDir)) if (name.startsWith("boxyard.db")) rmSync(join(dataDir, name));
    move(aside, dataDir);
    rmSync(aside, { recursive: true });
    await platform().restart();
  }
}, 120_000);

test("a sandbox whose time ran out while the server was away ends when it is back", async () => {
  const sandbox = await createSandbox(platform(), { timeoutMs: 3_000 });
  await platform().kill9();
  // Time alone: nobody watches while the server is away.
  await Bun.sleep(3_200);
  await platform().restart();
  await eventually("it has ended", async () => !(await list()).some(({ sandboxID }) => sandboxID === sandbox.id));
  await eventually("nothing of it is kept", () => !keptSandboxes(platform()).includes(sandbox.id));
});

test("a sandbox that died while the server was away is gone when it is back", async () => {
  const sandbox = await createSandbox(platform());
  // Time alone: the server is away by then.
  await sandbox.client.commands.run("sleep 1; kill -9 -1", { background: true, user: "root", timeoutMs: 0 });
  await platform().kill9();
  // Time alone: as above.
  await Bun.sleep(1_500);
  await platform().restart();
  await eventually("it has ended", async () => !(await list()).some(({ sandboxID }) => sandboxID === sandbox.id));
  await eventually("nothing of it is kept", () => !keptSandboxes(platform()).includes(sandbox.id));
});

test("kill -9 in the middle of many creates leaves only sandboxes that answer", async () => {
  for (const afterMs of [5, 20, 45, 80]) {
    const creates = Array.from({ length: 6 }, () => createSandbox(platform(), { requestTimeoutMs: 10_000 }).catch(() => undefined));
    await Bun.sleep(afterMs); // Where it strikes is the point of the test.
    await platform().kill9();
    await Promise.all(creates);
    await platform().restart();
    const listed = (await list()).map(({ sandboxID }) => sandboxID);
    await eventually("what is kept is what is listed", () => {
      const kept = new Set(keptSandboxes(platform()));
      return kept.size === listed.length && listed.every((id) => kept.has(id));
    });
    for (const id of listed) {
      const health = await fetch(`${platform().apiUrl}/health`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } });
      expect([id, health.status]).toEqual([id, 204]);
      expect((await platform().api({ method: "DELETE", path: `/sandboxes/${id}` })).status).toBe(204);
    }
    expect(keptSandboxes(platform())).toEqual([]);
  }
}, 120_000);

test("an idempotency key gives the same sandbox, also after kill -9", async () => {
  const key = { "Idempotency-Key": `once-${crypto.randomUUID()}` };
  const once = () => platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base" }, headers: key });
  const first = await once();
  expect(first.status).toBe(201);
  expect((await once()).body).toEqual(first.body);
  await platform().kill9();
  await platform().restart();
  expect((await once()).body).toEqual(first.body);
  const other = await platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", timeout: 60 }, headers: key });
  expect(other.status).toBe(422);
});
