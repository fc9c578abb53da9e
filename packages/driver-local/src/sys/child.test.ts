import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { CAN_BE_BORN_IN_CGROUP, ChildProgram } from "./child.ts";
import { close, O, pipe, syscall } from "./libc.ts";

function shell(script: string, env: Readonly<Record<string, string>> = {}): ChildProgram {
  const program = new ChildProgram();
  program.resetSignals();
  program.execute("/bin/sh", ["-c", script], env);
  return program;
}

test("runs calls in order, with results of earlier ones, apart from our own descriptors", () => {
  const ends = pipe();
  const before = readdirSync("/proc/self/fd").length;
  const program = new ChildProgram();
  const fd = program.call("openat", [-100, "/proc/self/comm", O.RDONLY, 0]);
  const buffer = new Uint8Array(16);
  const length = program.call("read", [fd, buffer, buffer.byteLength]);
  program.call("write", [ends.write, buffer, length]);
  program.run();
  expect(readdirSync("/proc/self/fd").length).toBe(before);
  // Shared memory: the child read into our buffer.
  expect(new TextDecoder().decode(buffer)).toContain("bun");
  close(ends.read);
  close(ends.write);
});

test("stops at the first call that fails and names it", () => {
  const program = new ChildProgram();
  program.call("openat", [-100, "/no/such", O.RDONLY, 0], "/no/such");
  program.call("kill", [process.pid, 9]);
  expect(() => program.run()).toThrow("openat /no/such: ENOENT");
});

test("executes with just this environment and tells the exit code", async () => {
  expect(await shell('[ "$A" = "b c" ] && [ -z "$HOME" ] && exit 7', { A: "b c" }).spawn()).toBe(7);
  expect(await shell("exit 0").spawn()).toBe(0);
  expect(await shell("kill -9 $$").spawn()).toBe(137);
});

test("a program that is not there is an error of ours, not an exit code", async () => {
  const program = new ChildProgram();
  program.execute("/no/such/program", [], {});
  expect(await program.spawn().catch((error: unknown) => String(error))).toContain("execve /no/such/program: ENOENT");
});

test("children start with clean signals", async () => {
  expect(await shell("kill -15 $$; exit 0").spawn()).toBe(143);
  for (const line of ["SigBlk", "SigIgn"]) {
    // Without a shell in between, which blocks signals itself now and then.
    expect(await shell(`exec grep -q '^${line}:.0000000000000000' /proc/self/status`).spawn()).toBe(0);
  }
});

test.if(CAN_BE_BORN_IN_CGROUP && process.getuid?.() === 0)("a parked child does its part ahead and goes on where it is told", async () => {
  const cgroup = join(findHierarchies().unified, `boxyard-test-${process.pid}`);
  mkdirSync(cgroup);
  const descriptors = readdirSync("/proc/self/fd").length;
  try {
    const program = ChildProgram.park((child) => child.call("setsid", []));
    while (!program.isReady()) await Bun.sleep(1);
    const later = pipe();
    const output = program.descriptor(later.write, O.WRONLY);
    program.call("write", [output, new TextEncoder().encode("x"), 1]);
    program.call("dup3", [output, 1, 0]);
    program.resetSignals();
    program.execute("/bin/sh", ["-c", "cat /proc/self/cgroup; exit 5"], { PATH: "/bin:/usr/bin" });
    expect(await program.spawn(cgroup)).toBe(5);
    const buffer = new Uint8Array(4096);
    const text = new TextDecoder().decode(buffer.subarray(0, syscall("read", [later.read, buffer, buffer.byteLength])));
    expect(text).toMatch(new RegExp(`^x[\\s\\S]*^0::/boxyard-test-${process.pid}$`, "m"));
    close(later.read);
    close(later.write);

    const unused = ChildProgram.park(() => {});
    unused.discard();
    unused.discard();
    const failing = ChildProgram.park((child) => child.call("openat", [-100, "/no/such", O.RDONLY, 0], "/no/such"));
    await Bun.sleep(20);
    expect(failing.isReady()).toBe(false);
    failing.discard();
  } finally {
    rmdirSync(cgroup);
  }
  expect(readdirSync("/proc/self/fd").length).toBe(descriptors);
});

test("a parked child holds nothing of ours and ends with us", async () => {
  const script = `
    import { ChildProgram } from ${JSON.stringify(join(import.meta.dir, "child.ts"))};
    const server = Bun.serve({ port: 0, fetch: () => new Response() });
    const program = ChildProgram.park((child) => child.call("setsid", []));
    while (!program.isReady()) await Bun.sleep(1);
    const { readdirSync, readFileSync } = await import("node:fs");
    const child = readFileSync("/proc/self/task/" + process.pid + "/children", "utf8").trim().split(" ").at(-1);
    console.log(JSON.stringify({ child, fds: readdirSync("/proc/" + child + "/fd").length }));
    process.kill(process.pid, "SIGKILL");`;
  const parent = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  const { child, fds } = JSON.parse(await new Response(parent.stdout).text()) as { child: string; fds: number };
  await parent.exited;
  expect(fds).toBe(4);
  const gone = () => !existsSync(`/proc/${child}`) || /\) [ZX]/.test(readFileSync(`/proc/${child}/stat`, "utf8"));
  for (let i = 0; i < 500 && !gone(); i++) await Bun.sleep(10);
  expect(gone()).toBe(true);
});

test("a hundred at once, beside children of Bun's own, are each told apart", async () => {
  const ours = Array.from({ length: 100 }, (_, i) => shell(`exit ${i}`).spawn());
  const theirs = Array.from({ length: 10 }, (_, i) => Bun.spawn(["sh", "-c", `exit ${i}`]).exited);
  expect(await Promise.all(ours)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(await Promise.all(theirs)).toEqual(Array.from({ length: 10 }, (_, i) => i));
  expect(process.listenerCount("SIGCHLD")).toBe(0);
});
