import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

interface Attack {
  /** Programs to put into the sandbox first, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly user?: "root" | "user";
}

interface Outcome extends AsyncDisposable {
  readonly victim: HeldSandbox;
  /** Exit code and everything the command wrote. */
  readonly ended: string;
  /** How often another sandbox answered meanwhile, and the longest time it took. */
  readonly answers: number;
  readonly longestMs: number;
}

/** Runs an attack in one sandbox while a second one is asked again and again. */
async function attack(command: string, options: Attack = {}): Promise<Outcome> {
  const victim = await createSandbox(platform());
  for (const [path, text] of Object.entries(options.files ?? {})) await victim.client.files.write(path, text);
  await using bystander = await createSandbox(platform());
  const watch = { running: true, answers: 0, longestMs: 0 };
  const watching = (async () => {
    do {
      const startedAt = performance.now();
      const { stdout } = await bystander.client.commands.run("echo alive");
      if (stdout === "alive\n") watch.answers++;
      watch.longestMs = Math.max(watch.longestMs, performance.now() - startedAt);
      await Bun.sleep(50);
    } while (watch.running);
  })();
  try {
    const result = await victim.asRoot(command, { user: options.user ?? "root", timeoutMs: 40_000 });
    watch.running = false;
    await watching;
    const dispose = () => victim[Symbol.asyncDispose]();
    return { ended: `${result.exitCode}: ${result.stdout}${result.stderr}`, ...watch, victim, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await victim[Symbol.asyncDispose]();
    throw error;
  } finally {
    watch.running = false;
    await watching;
  }
}

const BOMB = `
import os, sys, time
made = 0
try:
    while made < 100000:
        if os.fork() == 0:
            time.sleep(15)
            os._exit(0)
        made += 1
    print("never stopped")
except OSError as error:
    print("stopped after", made, ":", error.strerror)
`;

test("a fork bomb ends inside at the process limit, with an error that names it", async () => {
  await using outcome = await attack("python3 /tmp/bomb.py", { files: { "/tmp/bomb.py": BOMB }, user: "user" });
  expect(outcome.ended).toMatch(/stopped after \d+ : Resource temporarily unavailable/);
  expect(outcome.answers).toBeGreaterThan(0);
  expect(outcome.longestMs).toBeLessThan(5_000);
  // The agent still answers, and when the children have gone so do commands.
  expect(await outcome.victim.client.isRunning()).toBe(true);
  await eventually("a command runs again", async () => (await outcome.victim.asRoot("echo still here")).stdout === "still here\n", {
    withinMs: 30_000,
    everyMs: 500,
  });
}, 90_000);

test("twice the memory ends the command and nothing else", async () => {
  await using probe = await createSandbox(platform());
  const { memoryMB } = (await platform().api({ path: `/sandboxes/${probe.id}` })).body as { memoryMB: number };
  const bytes = 2 * memoryMB * 1024 ** 2;
  const program = `data = bytearray(b"x") * ${bytes}\nprint("has", len(data))\n`;
  await using outcome = await attack('python3 /tmp/hungry.py; echo "exit code $?"', { files: { "/tmp/hungry.py": program } });
  // The shell that waited for it says so: 128 and the number of SIGKILL.
  expect(outcome.ended).toContain("exit code 137");
  expect(outcome.ended).toContain("Killed");
  expect(outcome.ended).not.toContain("has");
  expect(outcome.answers).toBeGreaterThan(0);
  expect(outcome.longestMs).toBeLessThan(5_000);
  expect((await outcome.victim.asRoot("echo still here")).stdout).toBe("still here\n");
}, 60_000);

test("a write beyond the disk limit ends with 'Disk quota exceeded' and leaves the sandbox usable", async () => {
  await using probe = await createSandbox(platform());
  const { diskSizeMB } = (await platform().api({ path: `/sandboxes/${probe.id}` })).body as { diskSizeMB: number };
  expect(diskSizeMB).toBeGreaterThan(0);
  await using outcome = await attack(`fallocate -l ${diskSizeMB + 200}M /var/big`);
  expect(outcome.ended).toContain("Disk quota exceeded");
  expect(outcome.answers).toBeGreaterThan(0);
  expect(outcome.longestMs).toBeLessThan(5_000);
  expect((await outcome.victim.asRoot("rm -f /var/big; echo fits > /var/small && cat /var/small")).stdout).toBe("fits\n");
}, 90_000);

test("processor time is shared: a sandbox that spins on every core can't stop another", async () => {
  await using outcome = await attack("for i in $(seq 8); do timeout 4 sh -c 'while :; do :; done' & done; wait; echo done");
  expect(outcome.ended).toBe("0: done\n");
  expect(outcome.answers).toBeGreaterThan(3);
  expect(outcome.longestMs).toBeLessThan(3_000);
}, 60_000);
