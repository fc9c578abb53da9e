import { expect, test } from "bun:test";
import { errnoOf, fromErrno } from "@boxyard/core/node";
import {
  close,
  cstring,
  hasErrno,
  KernelError,
  O,
  open,
  pidfdEnded,
  pidfdOpen,
  pidfdSendSignal,
  pipe,
  syscall,
  trySyscall,
} from "./libc.ts";

test("the error of a failed call has its errno and its object, and can be translated", () => {
  const error = (() => {
    try {
      return open("/no/such/file", O.RDONLY);
    } catch (e) {
      return e;
    }
  })();
  expect(error).toBeInstanceOf(KernelError);
  expect([errnoOf(error), (error as KernelError).message]).toEqual(["ENOENT", "openat /no/such/file: ENOENT"]);
  expect(fromErrno("look", error).code).toBe("not_found");
  expect(hasErrno(error, "EPERM", "ENOENT")).toBe(true);
});

test("ten thousand failing and succeeding calls in turn never mix their results", () => {
  for (let i = 0; i < 10_000; i++) {
    expect(trySyscall("openat", -100, "/no/such/file", 0, 0)).toBe(-2);
    expect(trySyscall("close", 1_000_000)).toBe(-9);
    expect(trySyscall("getpid")).toBe(process.pid);
  }
});

test("descriptors are close-on-exec", async () => {
  const ends = pipe();
  const file = open("/etc/passwd", O.RDONLY);
  const child = Bun.spawn(["ls", "-l", "/proc/self/fd"], { stdout: "pipe" });
  const listing = await new Response(child.stdout).text();
  for (const fd of [ends.read, ends.write, file]) {
    expect(listing).not.toContain(` ${fd} -> pipe`);
    expect(syscall("fcntl", [fd, 1])).toBe(1); // F_GETFD: FD_CLOEXEC
    close(fd);
  }
  expect(() => close(file)).toThrow("EBADF");
});

test("text with a NUL is refused, since the kernel would see only a part of it", () => {
  expect(() => cstring("/tmp/a\0b")).toThrow("NUL");
  expect([...cstring("é")]).toEqual([0xc3, 0xa9, 0]);
});

test("a pidfd knows when its process has ended", async () => {
  const child = Bun.spawn(["sleep", "100"]);
  const fd = pidfdOpen(child.pid);
  expect(pidfdEnded(fd)).toBe(false);
  pidfdSendSignal(fd, 9);
  await child.exited;
  expect(pidfdEnded(fd)).toBe(true);
  expect(() => pidfdSendSignal(fd, 0)).toThrow("ESRCH");
  close(fd);
});
