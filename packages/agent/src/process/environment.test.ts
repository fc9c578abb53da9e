import { expect, test } from "bun:test";
import { composeEnvironment, threadsEnvironment } from "./environment.ts";
import { resolveCommand } from "./shell-fallback.ts";

const user = { name: "user", home: "/home/user" };

test("the request's variables override the sandbox's, which override PATH and the user's", () => {
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  expect({ ...composeEnvironment(user, {}, {}) }).toEqual({ PATH: path, HOME: "/home/user", USER: "user", LOGNAME: "user" });
  const env = composeEnvironment(user, { HOME: "/sandbox", A: "1" }, { A: "2", USER: "x" });
  expect({ ...env }).toEqual({ PATH: path, HOME: "/sandbox", USER: "x", LOGNAME: "user", A: "2" });
});

test("the number of threads is that of the processors, a fraction counts as one, and no limit gives none", () => {
  const threads = [0.1, 0.5, 1, 1.5, 2, 64].map((limit) => threadsEnvironment(limit).OMP_NUM_THREADS);
  expect(threads).toEqual(["1", "1", "1", "2", "2", "64"]);
  expect([threadsEnvironment(0), threadsEnvironment(undefined)]).toEqual([{ OMP_NUM_THREADS: "1" }, {}]);
});

test("names of object members are ordinary names of variables", () => {
  expect(Object.keys(composeEnvironment(user, {}, JSON.parse('{"__proto__":"x","constructor":"y"}')))).toContain("__proto__");
});

test("names and values that no environment can have are refused", () => {
  for (const [name, value] of [
    ["", "x"],
    ["a=b", "x"],
    ["a\0", "x"],
    ["a", "\0"],
  ]) {
    expect(() => composeEnvironment(user, {}, { [name ?? ""]: value ?? "" })).toThrow(/environment|NUL/);
  }
});

test("only a missing /bin/bash is replaced, by the first shell that exists", () => {
  const only =
    (...paths: string[]) =>
    (path: string) =>
      paths.includes(path);
  const args = ["-l", "-c", "x"];
  expect(resolveCommand("/bin/bash", args, only("/bin/bash", "/bin/sh"))).toEqual(["/bin/bash", ...args]);
  expect(resolveCommand("/bin/bash", args, only("/bin/sh", "/bin/busybox"))).toEqual(["/bin/sh", ...args]);
  expect(resolveCommand("/bin/bash", args, only("/bin/busybox"))).toEqual(["/bin/busybox", "sh", ...args]);
  // Without any shell a command line of plain words is started directly.
  expect(resolveCommand("/bin/bash", args, only())).toEqual(["x"]);
  expect(resolveCommand("/bin/bash", ["-l", "-c", "/a 'b c'"], only())).toEqual(["/a", "b c"]);
  for (const other of [["-l", "-c", "a | b"], ["-i", "-l"], ["-x", "-c", "a"], []])
    expect(resolveCommand("/bin/bash", other, only())).toEqual(["/bin/bash", ...other]);
  expect(resolveCommand("bash", args, only("/bin/sh"))).toEqual(["bash", ...args]);
});
