import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { CommandExitError } from "e2b";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

interface Attack {
  /** Programs to put into the sandbox first, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly user?: "root" | "user";
  /** What another sandbox must be able to do during the attack. */
  readonly meanwhile?: (bystander: HeldSandbox) => Promise<void>;
}

interface Outcome extends AsyncDisposable {
  readonly victim: HeldSandbox;
  /** Exit code and everything the command wrote. */
  readonly ended: string;
}

/** An attack goes on until this file is there. It is in memory, because an attack fills the disk. */
const ENOUGH = "/dev/shm/enough";

async function answers(bystander: HeldSandbox): Promise<void> {
  for (let n = 0; n < 3; n++) expect((await bystander.asRoot("echo alive")).stdout).toBe("alive\n");
}

/** Runs an attack in one sandbox. From its first output until the file `ENOUGH` is there it is under way, and a second sandbox is used. */
async function attack(command: string, { files = {}, user = "root", meanwhile = answers }: Attack = {}): Promise<Outcome> {
  const victim = await createSandbox(platform());
  try {
    for (const [path, text] of Object.entries(files)) await victim.client.files.write(path, text);
    await using bystander = await createSandbox(platform());
    const running = await victim.client.commands.run(command, { background: true, user, timeoutMs: 80_000 });
    const ended = running.wait().catch((error: unknown) => {
      if (error instanceof CommandExitError) return error;
      throw error;
    });
    await eventually("the attack is under way", () => running.stdout !== "", { withinMs: 30_000 });
    await meanwhile(bystander);
    await victim.client.files.write(ENOUGH, "", { user: "root" });
    const { exitCode, stdout, stderr } = await ended;
    return { ended: `${exitCode}: ${stdout}${stderr}`, victim, [Symbol.asyncDispose]: () => victim[Symbol.asyncDispose]() };
  } catch (error) {
    await victim[Symbol.asyncDispose]();
    throw error;
  }
}

/** Its children live as long as it has its end of the pipe. */
const BOMB = `
import os, time
made = 0
inner, outer = os.pipe()
try:
    while made < 100000:
        if os.fork() == 0:
            os.close(outer)
            os.read(inner, 1)
            os._exit(0)
        made += 1
    print("never stopped", flush=True)
except OSError as error:
    print("stopped after", made, ":", error.strerror, flush=True)
while not os.path.exists("${ENOUGH}"):
    time.sleep(0.05)
`;

const untilEnough = (command: string) => `echo begun; until [ -e ${ENOUGH} ]; do ${command}; done`;

test("a fork bomb ends inside at the process limit, with an error that names it", async () => {
  await using outcome = await attack("python3 /tmp/bomb.py", { files: { "/tmp/bomb.py": BOMB }, user: "user" });
  expect(outcome.ended).toMatch(/stopped after \d+ : Resource temporarily unavailable/);
  // The agent still answers, and as the children have gone so do commands.
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
  await using outcome = await attack(untilEnough('python3 /tmp/hungry.py; echo "exit code $?"'), { files: { "/tmp/hungry.py": program } });
  // The shell that waited for it says so: 128 and the number of SIGKILL.
  expect(outcome.ended).toContain("exit code 137");
  expect(outcome.ended).toContain("Killed");
  expect(outcome.ended).not.toContain("has");
  expect((await outcome.victim.asRoot("echo still here")).stdout).toBe("still here\n");
}, 60_000);

test("a write beyond the disk limit ends with 'Disk quota exceeded' and leaves the sandbox usable", async () => {
  await using probe = await createSandbox(platform());
  const { diskSizeMB } = (await platform().api({ path: `/sandboxes/${probe.id}` })).body as { diskSizeMB: number };
  expect(diskSizeMB).toBeGreaterThan(0);
  await using outcome = await attack(untilEnough(`fallocate -l ${diskSizeMB + 200}M /var/big`));
  expect(outcome.ended).toContain("Disk quota exceeded");
  expect((await outcome.victim.asRoot("rm -f /var/big; echo fits > /var/small && cat /var/small")).stdout).toBe("fits\n");
}, 90_000);

test("processor time is shared: a sandbox that spins on every core can't stop another", async () => {
  const SECONDS = 1.5;
  const spin = `import time\nwhile time.process_time() < ${SECONDS}: pass`;
  const meanwhile = async (bystander: HeldSandbox) => {
    expect((await bystander.asRoot(`exec python3 -c '${spin}'`)).exitCode).toBe(0);
  };
  const eight = `echo begun; for i in $(seq 8); do (until [ -e ${ENOUGH} ]; do :; done) & done; wait; times`;
  await using outcome = await attack(eight, { meanwhile });
  // The CPU time of its children, in user mode and in the kernel.
  const [user, kernel] = [...outcome.ended.matchAll(/(\d+)m([\d.]+)s/g)].slice(2).map(([, m, s]) => Number(m) * 60 + Number(s));
  // Each process alike would give it eight times as much as the other sandbox.
  expect(((user as number) + (kernel as number)) / SECONDS).toBeLessThan(4);
}, 90_000);
