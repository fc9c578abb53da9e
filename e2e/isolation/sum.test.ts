import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { python } from "./support/python.ts";

/* What all sandboxes together can take, tried with a server that leaves them very little. */

const MIB = 2 ** 20;
const MEMORY = 768 * MIB;
const PROCESSES = 600;

const kernelProcesses = Math.min(...["pid_max", "threads-max"].map((name) => Number(readFileSync(`/proc/sys/kernel/${name}`, "utf8"))));
const platform = usePlatform({
  env: { BOXYARD_RESERVE_MEMORY: String(totalmem() - MEMORY), BOXYARD_RESERVE_PROCESSES: String(kernelProcesses - PROCESSES) },
});

/** Of all sandboxes together, by the kernel's account. */
function takenBySandboxes(file: { v1: string; v2: string }): number {
  const { instance } = JSON.parse(readFileSync(join(platform().dataDir, "instance.json"), "utf8")) as { instance: string };
  const [controller] = file.v1.split(".");
  const places = [`/sys/fs/cgroup/${controller}/boxyard-${instance}/${file.v1}`, `/sys/fs/cgroup/boxyard-${instance}/${file.v2}`];
  const found = places.find((path) => existsSync(path));
  if (!found) throw new Error(`none of ${places.join(", ")}`);
  return Number(readFileSync(found, "utf8"));
}

const HOLD = `
import sys, time
held = [bytearray(b"x") * (1 << 20) for _ in range(int(sys.argv[1]))]
open("/tmp/held", "w").close()
time.sleep(150)
`;

/** Starts a program that takes `mib` MiB and keeps them; true once it has them, false when it was ended before. */
async function hold(sandbox: HeldSandbox, mib: number): Promise<boolean> {
  await sandbox.client.files.write("/tmp/hold.py", HOLD);
  const command = await sandbox.client.commands.run(`python3 /tmp/hold.py ${mib}`, { background: true, user: "root", timeoutMs: 0 });
  let ended = false;
  const end = () => {
    ended = true;
  };
  command.wait().then(end, end);
  // At the edge of what all may have, the kernel first reclaims pages of programs, which then run slowly; a question of the client may fail.
  const isHeld = () => sandbox.client.files.exists("/tmp/held").catch(() => false);
  await eventually("the memory is held, or the program ended", async () => ended || (await isHeld()), { withinMs: 100_000 });
  return !ended;
}

test("sandboxes that are within their own limits can't take more memory together than is theirs; the server goes on", async () => {
  // Each has 1 GiB for itself.
  await using first = await createSandbox(platform());
  await using second = await createSandbox(platform());
  const held = [await hold(first, 400), await hold(second, 600)];
  expect(held).toContain(true);
  expect(takenBySandboxes({ v1: "memory.usage_in_bytes", v2: "memory.current" })).toBeLessThanOrEqual(MEMORY);
  // The kernel had to kill one of the two, or the sum would be a gigabyte.
  const left = await Promise.all([first, second].map(async (sandbox) => (await sandbox.asRoot("pgrep -c python3")).stdout.trim()));
  expect(left).toContain("0");
  expect((await platform().api({ path: "/sandboxes" })).status).toBe(200);
  for (const sandbox of [first, second]) expect((await sandbox.asRoot("echo works")).stdout).toBe("works\n");
}, 240_000);

test("a create that would not fit is refused with 503 and Retry-After, and works when there is room again", async () => {
  {
    await using greedy = await createSandbox(platform());
    expect(await hold(greedy, 560)).toBe(true);
    await eventually("a create is refused", async () => {
      const { status, body, headers } = await platform().api({
        method: "POST",
        path: "/v2/sandboxes",
        body: { templateID: "base", timeout: 60 },
      });
      if (status === 201) await platform().api({ method: "DELETE", path: `/sandboxes/${(body as { sandboxID: string }).sandboxID}` });
      if (status !== 503) return false;
      expect(body).toMatchObject({
        error_code: "sandbox_capacity_unavailable",
        message: expect.stringContaining("BOXYARD_RESERVE_MEMORY"),
      });
      expect(headers.get("retry-after")).toBe("5");
      return true;
    });
  }
  await eventually("a create works again", async () => {
    const { status, body } = await platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", timeout: 60 } });
    if (status === 201) await platform().api({ method: "DELETE", path: `/sandboxes/${(body as { sandboxID: string }).sandboxID}` });
    return status === 201;
  });
}, 240_000);

const BOMB = `
import os, time
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            time.sleep(10)
            os._exit(0)
        made += 1
except OSError: pass
print(made)
`;

test("fork bombs in several sandboxes can't take more processes together than are theirs", async () => {
  await using first = await createSandbox(platform());
  await using second = await createSandbox(platform());
  const made = await Promise.all([first, second].map(async (sandbox) => Number((await python(sandbox, BOMB)).stdout)));
  const sum = made.reduce((one, other) => one + other);
  expect(sum).toBeGreaterThan(PROCESSES / 2);
  expect(sum).toBeLessThanOrEqual(PROCESSES);
  expect((await platform().api({ path: "/sandboxes" })).status).toBe(200);
}, 240_000);

test("everything in a sandbox is taken before the machine's own when memory ends, commands before the agent", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await sandbox.asRoot(
    `for p in /proc/[0-9]*; do [ -e $p/comm ] && echo "$(cat $p/comm) $(cat $p/oom_score_adj)"; done; for n in -1 -1000; do echo $n > /proc/self/oom_score_adj && echo lowered; done 2>/dev/null; true`,
  );
  expect(stdout).not.toContain("lowered");
  const scores = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  expect(Number(scores.get("agent"))).toBe(500);
  expect(Number(scores.get("launch"))).toBe(600);
  expect(Math.min(...[...scores.values()].map(Number))).toBe(500);
});

test("what waits in TCP and UDP sockets of all sandboxes has a bound too, on cgroup v1 one of its own", () => {
  const most = takenBySandboxes({ v1: "memory.kmem.tcp.limit_in_bytes", v2: "memory.max" });
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(MEMORY);
});
