import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { SLOWNESS } from "./testing/config.ts";
import { exec, initAgent, startUnread } from "./testing/exec.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

const MEMORY = 192 << 20;
const DISK = 64 << 20;
const PROCESSES = 100;
const AT_LIMIT = "resource_exhausted: the sandbox has reached its limit of processes or memory; end some of them and try again";

interface Booted {
  readonly handle: SandboxHandle;
  readonly address: AgentAddress;
}

/** A program that takes all it can get fails inside its sandbox, with an error that a user understands, and does not disturb the neighbour. */
describe("limits hold", () => {
  const machine = useTestMachine();
  let greedy: Booted;
  let neighbour: Booted;

  const boot = async (): Promise<Booted> => {
    const handle = await machine.boot(machine.spec({ memoryBytes: MEMORY, diskBytes: DISK, maxProcesses: PROCESSES, cpuCount: 0.5 }));
    const address = await machine.driver.address(handle);
    await initAgent(address);
    return { handle, address };
  };

  /** Runs `command` in the greedy sandbox; the neighbour must answer all the while, each time within two seconds. */
  const attack = async (command: string, user = "root") => {
    let isOver = false;
    const running = exec(greedy.address, command, { user, timeoutMs: 100_000 }).finally(() => {
      isOver = true;
    });
    do {
      expect((await exec(neighbour.address, "echo alive", { timeoutMs: 2_000 * SLOWNESS })).output).toBe("alive\n");
      await Bun.sleep(50);
    } while (!isOver);
    return running;
  };

  const reboot = async () => {
    await machine.driver.destroy(greedy.handle);
    greedy = await boot();
  };

  beforeAll(async () => {
    neighbour = await boot();
    greedy = await boot();
  }, 600_000);

  test("memory: twice the limit is killed, the sandbox lives on", async () => {
    const result = await attack(`python3 -c 'x = b"x" * ${2 * MEMORY}; print(len(x))'; echo "python ended with $?"`);
    expect(result.output).toMatch(/^python ended with 137$/m);
    expect(result.output).toContain("Killed");
    const stats = await machine.driver.stats(greedy.handle);
    expect(stats.oomKills).toBeGreaterThanOrEqual(1);
    expect(stats.memoryUsedBytes).toBeLessThanOrEqual(MEMORY);
    expect((await exec(greedy.address, "echo still here")).output).toBe("still here\n");
    expect((await machine.driver.stats(neighbour.handle)).oomKills).toBe(0);
  }, 120_000);

  test("memory: no swap makes it more", async () => {
    // Under cgroup v1 the limit is of memory and swap together, under v2 of swap alone.
    const isV2 = existsSync("/sys/fs/cgroup/cgroup.controllers");
    const file = isV2 ? "/sys/fs/cgroup/memory.swap.max" : "/.boxyard/cgroup/memory/memory.memsw.limit_in_bytes";
    expect((await exec(greedy.address, `cat ${file}`)).output).toBe(isV2 ? "0\n" : `${MEMORY}\n`);
  });

  test("shared memory counts as used, as it does for the limit", async () => {
    const used = async () => (await machine.driver.stats(neighbour.handle)).memoryUsedBytes;
    const before = await used();
    await exec(neighbour.address, "dd if=/dev/zero of=/dev/shm/some bs=1M count=32; dd if=/dev/zero of=/var/cached bs=1M count=16");
    const growth = (await used()) - before;
    expect(growth).toBeGreaterThan(28 << 20);
    expect(growth).toBeLessThan(44 << 20);
    await exec(neighbour.address, "rm /dev/shm/some /var/cached");
  });

  test("shared memory and temporary files count as memory", async () => {
    const result = await attack(`dd if=/dev/zero of=/dev/shm/big bs=1M count=${(2 * MEMORY) >> 20}; rm -f /dev/shm/big`);
    expect(result.output).toContain("No space left on device");
  }, 120_000);

  test("disk: a write beyond the limit says so, and what was there stays", async () => {
    await exec(greedy.address, "echo precious > /root/keep; sync");
    const result = await attack(`dd if=/dev/zero of=/root/big bs=1M count=${(2 * DISK) >> 20} conv=fsync`);
    expect(result.output).toMatch(/Disk quota exceeded|No space left on device/);
    expect((await exec(greedy.address, "cat /root/keep; rm /root/big; sync; echo more > /root/more && echo written")).output).toBe(
      "precious\nwritten\n",
    );
    const stats = await machine.driver.stats(greedy.handle);
    expect(stats.diskUsedBytes).toBeLessThanOrEqual(DISK);
  }, 120_000);

  test("cpu: a sandbox of half a core gets half a core", async () => {
    const before = await machine.driver.stats(greedy.handle);
    const startedAt = performance.now();
    await attack("for i in 1 2 3 4; do timeout 2 sh -c 'while :; do :; done' & done; wait; true");
    const wallUsec = (performance.now() - startedAt) * 1_000;
    const used = (await machine.driver.stats(greedy.handle)).cpuUsageUsec - before.cpuUsageUsec;
    expect(used / wallUsec).toBeLessThan(0.65);
  }, 60_000);

  for (const user of ["user", "root"]) {
    test(`processes: a fork bomb of ${user}'s goes no further than the limit, and the agent survives it`, async () => {
      // Time alone: the bomb forks meanwhile.
      const bomb = attack("bomb() { bomb | bomb & }; bomb; sleep 3; echo over", user);
      await Bun.sleep(1_500);
      expect((await machine.driver.stats(greedy.handle)).processes).toBeLessThanOrEqual(PROCESSES + 64);
      expect((await bomb).output).toMatch(/Resource temporarily unavailable|Cannot allocate memory/);
      expect((await machine.driver.inspect(greedy.handle)).phase).toBe("running");
      // The fork bomb still runs, and the agent still answers.
      const { host, agentPort } = greedy.address;
      expect((await fetch(`http://${host}:${agentPort}/health`)).status).toBe(204);
      await reboot();
    }, 120_000);
  }

  test("processes: at the limit the agent refuses a command and says why", async () => {
    const fill = "import os, time\ntry:\n  while os.fork() > 0: pass\nexcept OSError: pass\ntime.sleep(1000)";
    const stream = await startUnread(greedy.address, `exec python3 -c '${fill}'`);
    await eventually("it is full", async () => (await machine.driver.stats(greedy.handle)).processes >= PROCESSES, {
      withinMs: 60_000, // Python and its forks take more than ten seconds in the emulated guest, when other suites run beside it.
    });
    const next = await exec(greedy.address, "echo calm");
    expect(next).toEqual({ output: "", exitCode: undefined, status: AT_LIMIT });
    await stream.cancel();
    await reboot();
  }, 120_000);

  test("processes: a running fork bomb is gone with one kill", async () => {
    const bomb = exec(greedy.address, "bomb() { bomb | bomb & }; bomb; sleep 100").catch(() => "cut off");
    // Time alone: how far the bomb has come does not matter, and asking for it would need a process.
    await Bun.sleep(500);
    const ended = machine.driver.wait(greedy.handle, AbortSignal.timeout(10_000));
    await machine.driver.signal(greedy.handle, "SIGKILL");
    expect(await ended).toEqual({ reason: "killed" });
    await machine.driver.destroy(greedy.handle);
    await bomb;
    expect((await exec(neighbour.address, "echo alive")).output).toBe("alive\n");
  }, 120_000);

  test("disk bandwidth: direct writes and reads go no faster than the operator's setting, and nothing is left of it", async () => {
    await machine.destroyAll();
    machine.diskBandwidth = 8 << 20;
    await machine.reopen();
    const { handle, address } = await boot();
    // 16 MiB at 8 MiB a second; a lower bound, which holds on slow machines too. The kernel does not throttle the first moments.
    for (const command of ["dd if=/dev/zero of=/root/x bs=1M count=16 oflag=direct", "dd if=/root/x of=/dev/null bs=1M iflag=direct"]) {
      const startedAt = performance.now();
      expect((await exec(address, command, { timeoutMs: 60_000 })).output).toContain("16 MiB");
      expect(performance.now() - startedAt).toBeGreaterThan(1_200);
    }
    await machine.driver.destroy(handle);
    machine.diskBandwidth = undefined;
    // A server without the setting still removes what a server with the setting has made.
    await machine.reopen();
  }, 120_000);
});
