import { afterAll, expect, test } from "bun:test";
import { Template } from "@boxyard/sdk/template";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const ONE_PROCESSOR = "one-processor";
const server = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
afterAll(async () => {
  await Template.delete(ONE_PROCESSOR, server()).catch(() => {});
});

const MIB = 2 ** 20;
const numbers = (text: string) => text.trim().split(/\s+/).map(Number);

/** Takes 200 MiB, keeps them, and tells what an open /proc/meminfo says before and behind that, as `top` reads it. */
const GROW = `
import os
file = os.open("/proc/meminfo", os.O_RDONLY)
def used():
    os.lseek(file, 0, 0)
    lines = dict(line.split(":") for line in os.read(file, 4096).decode().splitlines())
    kib = lambda name: int(lines[name].split()[0])
    return kib("MemTotal") - kib("MemAvailable")
before = used()
held = bytearray(b"x") * (200 << 20)
import time
for _ in range(100):
    if used() - before > 190 << 10: break
    time.sleep(0.05)
print(before, used())
`;

test("free, and programs that keep /proc/meminfo open, see the sandbox's own memory as it is", async () => {
  await using sandbox = await createSandbox(platform());
  const limits = JSON.parse((await sandbox.asRoot("cat /.boxyard/host/limits.json")).stdout) as { memoryBytes: number };
  const [total = 0, used = 0] = numbers((await sandbox.asRoot("free -b | awk '/Mem:/ { print $2, $3 }'")).stdout);
  expect(total).toBe(limits.memoryBytes);
  expect(used).toBeGreaterThan(0);
  expect(used).toBeLessThan(150 * MIB);
  await sandbox.client.files.write("/tmp/grow.py", GROW);
  const [before = 0, grown = 0] = numbers((await sandbox.asRoot("python3 /tmp/grow.py")).stdout);
  expect(grown - before).toBeGreaterThan(190 * 1024);
  // Given back, and no swap of the machine's.
  await eventually(
    "memory is free again",
    async () => Number((await sandbox.asRoot("free -b | awk '/Mem:/ { print $3 }'")).stdout) < 150 * MIB,
  );
  expect((await sandbox.asRoot("free -b | awk '/Swap:/ { print $2 }'; wc -c < /proc/swaps")).stdout).toBe("0\n0\n");
});

test("a sandbox that reads its figures all the time from everywhere keeps neither the server nor another sandbox's figures waiting", async () => {
  await using greedy = await createSandbox(platform());
  await using modest = await createSandbox(platform());
  const reading = await greedy.client.commands.run(
    "for i in $(seq 100); do (read -r line < /proc/meminfo; echo reads; while :; do read -r line < /proc/meminfo; done) & done; wait",
    { background: true, user: "root", timeoutMs: 0 },
  );
  // What they print says so: a command to ask them would wait for its turn among them.
  await eventually("they read", () => reading.stdout.split("reads").length > 90, { withinMs: 30_000 });
  for (let round = 0; round < 5; round++) {
    const { stdout } = await modest.asRoot("timeout 10 free -b | awk '/Mem:/ { print $3 }'");
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(await modest.client.isRunning()).toBe(true);
  }
  expect(await reading.kill()).toBe(true);
}, 60_000);

test("its files can be neither written nor taken away, nor do they show another sandbox", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await sandbox.asRoot(
    "for f in /proc/meminfo /.boxyard/host/meminfo /proc/sys/kernel/random/boot_id /.boxyard/host/boot_id; do (echo x > $f) 2>/dev/null && echo written; rm -f $f 2>/dev/null && echo gone; touch $f 2>/dev/null && echo touched; done; true",
  );
  expect(stdout).toBe("");
  // The image has no umount. 2: MNT_DETACH.
  const umount = `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for path in (b"/proc/meminfo", b"/proc/sys/kernel/random/boot_id"):
    print(libc.umount2(path, 2), ctypes.get_errno())`;
  expect((await sandbox.asRoot(`python3 -c '${umount}'`)).stdout).toBe("-1 1\n-1 1\n");
});

test("a sandbox of one processor counts one", async () => {
  await Template.fromTemplate("base").build(ONE_PROCESSOR, { ...server(), cpuCount: 1 });
  await using sandbox = await createSandbox(platform(), {}, ONE_PROCESSOR);
  const { stdout } = await sandbox.asRoot(
    "getconf _NPROCESSORS_ONLN; grep -c '^processor' /proc/cpuinfo; python3 -c 'import os; print(os.cpu_count())'; cat /sys/devices/system/cpu/online",
  );
  expect(stdout).toBe("1\n1\n1\n0\n");
});
