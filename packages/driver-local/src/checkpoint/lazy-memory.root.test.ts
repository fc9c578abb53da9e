import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tryLockFile } from "@boxyard/core/file-lock";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const MIB = 96;

/**
 * Holds memory whose every page has its number in it, and looks at it when asked: in this process, in a child that it has forked since, after a move (mremap) of the
 * last quarter and after it has given back the first (madvise), which has to be zeros then.
 */
const HOLDER = `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
SIZE = ${MIB} << 20
at = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
pages = SIZE // 4096
def put(address, number): ctypes.c_uint64.from_address(address + 8).value = number
def seen(address): return ctypes.c_uint64.from_address(address + 8).value
for page in range(pages): put(at + page * 4096, page + 1)
open("/root/ready", "w")
while not os.path.exists("/root/go"): time.sleep(0.005)
quarter = SIZE // 4
child = os.fork()
if child == 0:
    good = all(seen(at + page * 4096) == page + 1 for page in range(pages - 1, -1, -7))
    os._exit(0 if good else 1)
said = [] if libc.madvise(at, quarter, 4) == 0 else ["madvise"]
moved = libc.mremap(at + 3 * quarter, quarter, 2 * quarter, 1)
for page in range(0, pages // 4, 5):
    if seen(at + page * 4096) != 0: said.append("not given back"); break
for page in range(pages // 4, 3 * pages // 4):
    if seen(at + page * 4096) != page + 1: said.append("lost"); break
for page in range(pages // 4):
    if seen(moved + page * 4096) != 3 * pages // 4 + page + 1: said.append("lost by the move"); break
if os.waitpid(child, 0)[1] != 0: said.append("lost by the fork")
open("/root/said.new", "w").write(" ".join(said) or "all there")
os.rename("/root/said.new", "/root/said")
time.sleep(1e6)
`;

describe.skipIf(process.arch !== "x64" || !existsSync("/dev/userfaultfd"))("memory that comes while a sandbox runs", () => {
  setDefaultTimeout(120_000);
  const machine = useTestMachine();
  afterEach(() => machine.destroyAll(), 60_000);

  const resources = { memoryBytes: 512 << 20, maxProcesses: 512 };

  async function boot(): Promise<{
    readonly handle: SandboxHandle;
    readonly address: AgentAddress;
    readonly spec: ReturnType<typeof machine.spec>;
  }> {
    const spec = machine.spec(resources);
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address);
    await exec(address, `cat > /root/holder.py <<'END'\n${HOLDER}\nEND`);
    await startUnread(address, "exec python3 /root/holder.py 2> /root/errors");
    await eventually("it holds its memory", async () => (await exec(address, "test -e /root/ready")).exitCode === 0, { withinMs: 60_000 });
    return { handle, address, spec };
  }

  const planOf = ({ sandboxId }: { readonly sandboxId: string }) => join(machine.dataDir, "sandboxes", sandboxId, "lazy-plan");

  async function said(address: AgentAddress): Promise<string> {
    await exec(address, "touch /root/go");
    await eventually("it has looked", async () => (await exec(address, "test -e /root/said -o -s /root/errors")).exitCode === 0, {
      withinMs: 60_000,
    });
    return (await exec(address, "cat /root/said /root/errors")).output;
  }

  test("is all there, for children, after moves, and what was given back is gone; a pause meanwhile waits for it", async () => {
    const { driver } = machine;
    const { handle, spec } = await boot();
    await driver.pause(handle, { memory: true }, never);
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    expect(readFileSync(planOf(spec), "utf8")).toContain("missing ");
    // Before anything has touched it.
    await driver.pause(resumed, { memory: true }, never);
    const again = await driver.resume({ ...spec, incarnation: 3 }, { memory: true }, never);
    const address = await driver.address(again);
    await initAgent(address);
    expect(await said(address)).toBe("all there");
    expect((await exec(address, "ls -l /proc/[0-9]*/fd | grep -c userfaultfd")).output).toBe("0\n");
  });

  test("a sandbox whose memory cannot come any more ends, with the reason", async () => {
    const { driver } = machine;
    const { handle, spec } = await boot();
    let resumed = handle;
    let incarnation = 1;
    // Until the memory is still on its way when the attack comes.
    await eventually("what brings the memory is killed", async () => {
      await driver.pause(resumed, { memory: true }, never);
      resumed = await driver.resume({ ...spec, incarnation: ++incarnation }, { memory: true }, never);
      const [, bringer] = bringersOf(planOf(spec));
      if (bringer !== undefined) process.kill(bringer, "SIGKILL");
      return bringer !== undefined;
    });
    await eventually("the sandbox has ended", async () => (await driver.inspect(resumed)).exit !== undefined);
    expect((await driver.inspect(resumed)).exit).toEqual({ reason: "memory_lost" });
  });

  test("where memory cannot be brought later, a resume brings all of it first", async () => {
    const { driver } = machine;
    const { handle, spec } = await boot();
    await driver.pause(handle, { memory: true }, never);
    const lock = tryLockFile(planOf(spec));
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    lock?.release();
    expect(bringersOf(planOf(spec))).toEqual([]);
    const address = await driver.address(resumed);
    await initAgent(address);
    expect(await said(address)).toBe("all there");
  });
});

/** The guard and the one that answers faults, in the order of their start. */
function bringersOf(plan: string): number[] {
  const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandLine(name).includes(`lazy-memory\0${plan}`));
  return found.map(Number).sort((a, b) => a - b);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
