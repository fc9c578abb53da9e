import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { ChildProgram } from "./child.ts";
import { close, O, pipe } from "./libc.ts";

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
  expect(
    await shell("grep -q '^SigBlk:.0000000000000000' /proc/$$/status && grep -q '^SigIgn:.0000000000000000' /proc/$$/status").spawn(),
  ).toBe(0);
});

test("a hundred at once, beside children of Bun's own, are each told apart", async () => {
  const ours = Array.from({ length: 100 }, (_, i) => shell(`exit ${i}`).spawn());
  const theirs = Array.from({ length: 10 }, (_, i) => Bun.spawn(["sh", "-c", `exit ${i}`]).exited);
  expect(await Promise.all(ours)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(await Promise.all(theirs)).toEqual(Array.from({ length: 10 }, (_, i) => i));
  expect(process.listenerCount("SIGCHLD")).toBe(0);
});
