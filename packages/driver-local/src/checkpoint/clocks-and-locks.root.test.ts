import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { SandboxHandle } from "@boxyard/driver";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import { CLOCKS_AND_LOCKS, TRY_LOCKS } from "../testing/clocks-and-locks.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/* Clocks and file locks of programs, over resumes from disk and wakes from memory. */

interface Seen {
  readonly asked: number;
  /** Milliseconds. */
  readonly real: number;
  readonly monotonic: number;
  readonly boot: number;
  readonly inode: number;
  readonly isSameFile: boolean;
  readonly device: number;
}

setDefaultTimeout(60_000);
const PAUSED_MS = 1_500;
/** What may lie between the reads of two clocks, on a machine of two busy cores; less than the pause. */
const SLACK_MS = 1_000;
/** What a machine of two busy cores may take before a process runs again. */
const LATE_MS = 20_000;
const ALLOWED = "shared part-beside reads";

const machine = useTestMachine();
beforeAll(async () => {
  machine.wakeCache = { lingerMs: 300_000 };
  await machine.reopen();
}, 600_000);
afterEach(() => machine.destroyAll(), 60_000);

async function look(handle: SandboxHandle, before = 0): Promise<Seen> {
  const address = await machine.driver.address(handle);
  await exec(address, "touch /root/ask");
  let seen: Seen | undefined;
  await eventually("the program has answered", async () => {
    const { output, exitCode } = await exec(address, "cat /root/seen");
    seen = exitCode === 0 ? (JSON.parse(output) as Seen) : undefined;
    return (seen?.asked ?? 0) > before;
  }).catch(async (cause) => {
    throw new Error((await exec(address, "cat /root/errors")).output, { cause });
  });
  return seen as Seen;
}

const locksGot = async (handle: SandboxHandle) =>
  (await exec(await machine.driver.address(handle), `python3 - <<'END'\n${TRY_LOCKS}\nEND`)).output.trim();

test.each(["from disk", "from memory"])("clocks go on, locks are held and files are the same after resumes %s", async (way) => {
  const spec = machine.spec();
  let handle = await machine.boot(spec);
  await initAgent(await machine.driver.address(handle));
  await exec(await machine.driver.address(handle), `cat > /root/program.py <<'END'\n${CLOCKS_AND_LOCKS}\nEND`);
  await startUnread(await machine.driver.address(handle), "exec python3 /root/program.py 2> /root/errors");
  let before = await look(handle);
  expect(await locksGot(handle)).toBe(ALLOWED);
  for (let incarnation = 2; incarnation < 5; incarnation++) {
    await machine.driver.pause(handle, { memory: true }, never);
    if (way === "from disk") expect(await machine.driver.reclaim({ memoryBytes: 1, processes: 0 })).toBe(true);
    const pausedAt = performance.now();
    await staysTrueFor(PAUSED_MS, "the sandbox is paused", async () => (await machine.driver.inspect(handle)).phase === "paused");
    const pausedMs = performance.now() - pausedAt;
    handle = await machine.driver.resume({ ...spec, incarnation }, { memory: true }, never);
    await initAgent(await machine.driver.address(handle));
    await machine.driver.dropGeneration(handle);
    const now = await look(handle, before.asked);
    // The real time is right: it went on through the pause, and is the machine's.
    const real = now.real - before.real;
    expect(real).toBeGreaterThan(pausedMs);
    expect(Math.abs(now.real - Date.now())).toBeLessThan(LATE_MS);
    for (const clock of ["monotonic", "boot"] as const) {
      const went = now[clock] - before[clock];
      expect(went).toBeGreaterThan(0);
      // These clocks of a process restored from disk leave out the pause; those of a process that stayed in memory include it.
      if (way === "from disk") expect(went).toBeLessThan(real - pausedMs + SLACK_MS);
      else expect(Math.abs(went - real)).toBeLessThan(SLACK_MS);
    }
    // A new process sees the same clock.
    const fresh = await exec(await machine.driver.address(handle), "python3 -c 'import time; print(time.monotonic() * 1000)'");
    expect(Number(fresh.output)).toBeGreaterThan(now.monotonic);
    expect(Number(fresh.output)).toBeLessThan(now.monotonic + LATE_MS);
    expect(await locksGot(handle)).toBe(ALLOWED);
    expect([now.inode, now.isSameFile]).toEqual([before.inode, true]);
    // The kernel gives device numbers to mounts. A resume from disk makes the mounts anew, so the number may change.
    if (way === "from memory") expect(now.device).toBe(before.device);
    before = now;
  }
});
