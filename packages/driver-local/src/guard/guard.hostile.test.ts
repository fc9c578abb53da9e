import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type SandboxId, SerialQueues, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { InstanceCgroups } from "../cgroup/instance.ts";
import { runningSandboxes } from "../sandbox/running.ts";
import { DataPaths } from "../state/paths.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { type Guarded, MemoryGuard } from "./guard.ts";
import { uncountedBytes } from "./socket-memory.ts";

setDefaultTimeout(60_000);
const MIB = 1 << 20;
const machine = useTestMachine();

/** Netlink sockets full of answers that are not read: some 200 KiB each. */
const TAKE = (sockets: number) => `
import socket, struct, time, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
held = []
for _ in range(${sockets}):
    s = socket.socket(16, socket.SOCK_RAW, 0); s.bind((0, 0)); s.setblocking(False); held.append(s)
    try:
        for i in range(200): s.send(struct.pack("=IHHII", 4096, 999, 1, i, 0) + bytes(4080))
    except BlockingIOError: pass
print("holds", flush=True); time.sleep(600)
`;

/** The same with raw sockets of IPv6: each receives what is sent to ::1. */
const TAKE_BY_RAW = (sockets: number) => `
import socket, time, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
held = [socket.socket(socket.AF_INET6, socket.SOCK_RAW, 253) for _ in range(${sockets})]
for _ in range(8): held[0].sendto(bytes(60000), ("::1", 0))
print("holds", flush=True); time.sleep(600)
`;

/** Empty sockets, in a table that takes the kernel seconds to print. */
const MANY = `
import socket, time, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
held = [socket.socket(socket.AF_INET, socket.SOCK_RAW, 200) for _ in range(8000)]
time.sleep(600)
`;

async function attack(sockets: number, program = TAKE(sockets)): Promise<{ readonly handle: SandboxHandle; readonly pid: number }> {
  const handle = await machine.boot();
  const address = await machine.driver.address(handle);
  await initAgent(address);
  await exec(address, `cat > /tmp/take.py <<'END'\n${program}\nEND`);
  await startUnread(address, "exec python3 /tmp/take.py");
  return { handle, pid: machine.initPid(handle) };
}

const memoryOf = (availableBytes: number, totalBytes: number) => ({ availableBytes, totalBytes, kernelBytes: 0, reclaimableBytes: 0 });

const guardedInto = (killed: string[], { handle, pid }: { readonly handle: SandboxHandle; readonly pid: number }): Guarded => ({
  ...{ id: handle.sandboxId, pid, memoryBytes: 256 * MIB },
  kill: () => void killed.push(handle.sandboxId),
  systemUsec: () => 0,
  onTrial: async () => undefined,
});

/** Locks on bytes that don't touch each other: 40 MB. */
const LOCK = `
import fcntl, os, resource, struct, time
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
held = [os.open("/tmp/held-%d" % i, os.O_RDWR | os.O_CREAT) for i in range(220)]
for file in held:
    for at in range(1000): fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 2 * at, 1, 0))
open("/tmp/done", "w").close(); time.sleep(600)
`;

test("a sandbox whose locks on files take memory that no cgroup counts is ended, its neighbour is not", async () => {
  const greedy = await attack(0, LOCK);
  const modest = await attack(20);
  const address = await machine.driver.address(greedy.handle);
  await eventually("the locks are there", async () => (await exec(address, "test -e /tmp/done")).exitCode === 0);
  const killed: string[] = [];
  const running = () => [guardedInto(killed, modest), guardedInto(killed, greedy)];
  const guard = new MemoryGuard({ running, logger: silentLogger, memory: () => memoryOf(1, 8 * MIB) });
  try {
    guard.look();
    expect(killed).toEqual([greedy.handle.sandboxId]);
  } finally {
    guard.close();
  }
  await machine.destroyAll();
});

test("raw sockets of IPv6 count, and so do more sockets than can be read; a sandbox that cannot be ended does not protect the others", async () => {
  const byRaw = await attack(200, TAKE_BY_RAW(200));
  const many = await attack(0, MANY);
  await eventually("the sockets are there", () => {
    const [raw6, raw] = [`/proc/${byRaw.pid}/net/raw6`, `/proc/${many.pid}/net/raw`].map((path) => readFileSync(path, "utf8").split("\n"));
    const isFull = raw6?.some((row) => Number.parseInt(row.trim().split(/\s+/)[4]?.split(":")[1] ?? "", 16) > 180_000);
    return isFull === true && (raw?.length ?? 0) > 8000;
  });
  const killed: string[] = [];
  const broken: Guarded = { ...guardedInto(killed, many), pid: byRaw.pid, kill: () => expect.unreachable() };
  const running = () => [broken, guardedInto(killed, byRaw), guardedInto(killed, many)];
  const guard = new MemoryGuard({ running, logger: silentLogger, memory: () => memoryOf(1, 8 * MIB) });
  try {
    guard.look();
    expect(killed).toEqual([byRaw.handle.sandboxId, many.handle.sandboxId]);
  } finally {
    guard.close();
  }
  await machine.destroyAll();
});

test("a sandbox whose sockets take memory that no cgroup counts is ended, one with a few is not", async () => {
  const greedy = await attack(200);
  const modest = await attack(20);
  await eventually("the sockets are full", () => uncountedBytes(greedy.pid) > 34 * MIB && uncountedBytes(modest.pid) > 2 * MIB);
  const killed: string[] = [];
  const guarded = (of: typeof greedy) => guardedInto(killed, of);
  const left = { ...memoryOf(4096 * MIB, 8192 * MIB) };
  const guard = new MemoryGuard({ running: () => [guarded(greedy), guarded(modest)], logger: silentLogger, memory: () => left });
  try {
    guard.look();
    expect(killed).toEqual([]); // Memory does not shrink: no sandbox is checked.
    left.availableBytes -= 300 * MIB;
    guard.look();
    expect(killed).toEqual([greedy.handle.sandboxId]);
    killed.length = 0;
    left.availableBytes = 900 * MIB;
    guard.look();
    guard.look();
    expect(killed).toEqual([greedy.handle.sandboxId, greedy.handle.sandboxId]); // As long as little is left.
  } finally {
    guard.close();
  }
  await machine.destroyAll();
});

test("the driver finds its running sandboxes by their state files, and ends one as a kill does", async () => {
  const handle = await machine.boot();
  const { instance } = JSON.parse(readFileSync(join(machine.dataDir, "instance.json"), "utf8")) as { instance: string };
  const parts = {
    paths: new DataPaths(machine.dataDir),
    cgroups: new InstanceCgroups(findHierarchies(), instance),
    clock: systemClock,
    turns: new SerialQueues<SandboxId>(),
  };
  const [found] = runningSandboxes(parts);
  expect(found).toMatchObject({ id: handle.sandboxId, pid: machine.initPid(handle), memoryBytes: 256 * MIB });
  const ended = machine.driver.wait(handle, AbortSignal.timeout(30_000));
  found?.kill();
  await ended;
  expect(runningSandboxes(parts)).toEqual([]);
});
