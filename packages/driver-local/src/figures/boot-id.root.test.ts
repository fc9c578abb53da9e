import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { readRecord, writeRecord } from "../state/record.ts";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { BOOT_ID_PATH } from "./files.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$/;
/** Takes the mount away, in the mount namespace of this process. */
const UNCOVER = `import ctypes; assert ctypes.CDLL(None).umount2(b"${BOOT_ID_PATH}", 2) == 0`;

describe.each(["crun", "runc"] as const)("the boot identity of a sandbox, %s", (runtime) => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine(runtime);
  afterEach(async () => {
    await machine.destroyAll();
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
  }, 60_000);

  const ready = async (handle: SandboxHandle) => {
    await initAgent(await machine.driver.address(handle));
    return handle;
  };
  const boot = async (spec: SandboxSpec = machine.spec()) => ready(await machine.boot(spec));
  const output = async (handle: SandboxHandle, command: string) => (await exec(await machine.driver.address(handle), command)).output;
  const bootId = (handle: SandboxHandle) => output(handle, `cat ${BOOT_ID_PATH}`);
  const capture = (handle: SandboxHandle) => machine.driver.snapshots.capture(handle, { id: "s", memory: true }, never);
  const stateOf = ({ sandboxId }: SandboxSpec) => join(machine.dataDir, "sandboxes", sandboxId, "state.json");
  const resume = async (spec: SandboxSpec, memory: boolean) => ready(await machine.driver.resume(spec, { memory }, never));
  /** Pauses and resumes. */
  const cycle = async (handle: SandboxHandle, spec: SandboxSpec, memory: boolean) => {
    await machine.driver.pause(handle, { memory }, never);
    return resume(spec, memory);
  };

  test("each boot has a random one; a resume with memory and another driver keep it, a boot from the disk does not", async () => {
    const spec = machine.spec();
    let handle = await boot(spec);
    const first = await bootId(handle);
    expect(first).toMatch(UUID);
    expect(new Set([first, await bootId(await boot()), readFileSync(BOOT_ID_PATH, "utf8")]).size).toBe(3);
    await machine.reopen();
    expect(await bootId(handle)).toBe(first);
    // An open file of it is part of the image.
    await output(handle, `exec 3<${BOOT_ID_PATH}; sleep 1000 >/dev/null 2>&1 & echo $! > /root/pid`);
    handle = await cycle(handle, { ...spec, incarnation: 2 }, true);
    expect(await output(handle, `cat ${BOOT_ID_PATH} /proc/$(cat /root/pid)/fd/3`)).toBe(`${first}${first}`);
    handle = await cycle(handle, { ...spec, incarnation: 3 }, false);
    const second = await bootId(handle);
    expect(second).toMatch(UUID);
    expect(second).not.toBe(first);
  });

  test("a boot from the disk that fails leaves the paused memory its own", async () => {
    const spec = machine.spec();
    const handle = await boot(spec);
    const first = await bootId(handle);
    await machine.driver.pause(handle, { memory: true }, never);
    machine.faults.before = (name) => {
      if (name === "start") throw new Error("the fault of this test");
    };
    expect(await resume({ ...spec, incarnation: 2 }, false).catch(String)).toContain("the fault of this test");
    machine.faults.before = () => {};
    expect(await bootId(await resume({ ...spec, incarnation: 3 }, true))).toBe(first);
  });

  test("each sandbox that starts from a snapshot has its own; a rollback to memory brings the snapshot's back", async () => {
    const spec = machine.spec();
    let handle = await boot(spec);
    const first = await bootId(handle);
    await capture(handle);
    const specFrom = (memory: boolean): SandboxSpec => ({ ...machine.spec(), from: { snapshot: "s", memory } });
    const fork = specFrom(true);
    const forks = [await boot(fork), await boot(specFrom(true)), await boot(specFrom(false))];
    const seen = await Promise.all(forks.map(bootId));
    for (const id of seen) expect(id).toMatch(UUID);
    expect(new Set([first, ...seen]).size).toBe(4);
    const from = { snapshot: "s", memory: true };
    handle = await cycle(handle, { ...spec, incarnation: 2 }, false);
    const rebooted = await bootId(handle);
    expect(rebooted).not.toBe(first);
    handle = await cycle(handle, { ...spec, incarnation: 3, from }, true);
    expect(await bootId(handle)).toBe(first);
    handle = await cycle(handle, { ...spec, incarnation: 4, from: { ...from, memory: false } }, false);
    expect([first, rebooted, ...seen]).not.toContain(await bootId(handle));
    // The snapshot is of another sandbox.
    expect(await bootId(await cycle(forks[0] as SandboxHandle, { ...fork, incarnation: 2, from }, true))).toBe(seen[0] as string);
  });

  test("a sandbox that an earlier version paused resumes, and has one of its own from then on", async () => {
    const spec = machine.spec();
    let handle = await boot(spec);
    // As a sandbox of an earlier version is.
    expect(Bun.spawnSync(["nsenter", "-t", String(machine.initPid(handle)), "-m", "python3", "-c", UNCOVER]).exitCode).toBe(0);
    const { bootId: _, ...record } = readRecord(stateOf(spec)) as NonNullable<ReturnType<typeof readRecord>>;
    await writeRecord(stateOf(spec), record);
    const machines = readFileSync(BOOT_ID_PATH, "utf8");
    expect(await bootId(handle)).toBe(machines);
    await capture(handle);
    handle = await cycle(handle, { ...spec, incarnation: 2 }, true);
    const first = await bootId(handle);
    expect(first).toMatch(UUID);
    const fork = await bootId(await boot({ ...machine.spec(), from: { snapshot: "s", memory: true } }));
    expect(new Set([machines, first, fork]).size).toBe(3);
    handle = await cycle(handle, { ...spec, incarnation: 3 }, true);
    expect(await bootId(handle)).toBe(first);
  });
});
