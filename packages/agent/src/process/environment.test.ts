import { expect, test } from "bun:test";
import { composeEnvironment } from "./environment.ts";
import { resolveCommand } from "./shell-fallback.ts";

const user = { name: "user", home: "/home/user" };

test("PATH and the user, the sandbox's own, the request's: the last wins", () => {
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  expect({ ...composeEnvironment(user, {}, {}) }).toEqual({ PATH: path, HOME: "/home/user", USER: "user", LOGNAME: "user" });
  const env = composeEnvironment(user, { HOME: "/sandbox", A: "1" }, { A: "2", USER: "x" });
  expect({ ...env }).toEqual({ PATH: path, HOME: "/sandbox", USER: "x", LOGNAME: "user", A: "2" });
});

test("the names of object members are plain names here", () => {
  expect(Object.keys(composeEnvironment(user, {}, JSON.parse('{"__proto__":"x","constructor":"y"}')))).toContain("__proto__");
});

test("what no environment can hold is refused", () => {
  for (const [name, value] of [
    ["", "x"],
    ["a=b", "x"],
    ["a\0", "x"],
    ["a", "\0"],
  ]) {
    expect(() => composeEnvironment(user, {}, { [name ?? ""]: value ?? "" })).toThrow(/environment|NUL/);
  }
});

test("only a missing /bin/bash has a stand-in, the first that is there", () => {
  const only =
    (...paths: string[]) =>
    (path: string) =>
      paths.includes(path);
  const args = ["-l", "-c", "x"];
  expect(resolveCommand("/bin/bash", args, only("/bin/bash", "/bin/sh"))).toEqual(["/bin/bash", ...args]);
  expect(resolveCommand("/bin/bash", args, only("/bin/sh", "/bin/busybox"))).toEqual(["/bin/sh", ...args]);
  expect(resolveCommand("/bin/bash", args, only("/bin/busybox"))).toEqual(["/bin/busybox", "sh", ...args]);
  // Where there is none, a line that is only words is started as it is.
  expect(resolveCommand("/bin/bash", args, only())).toEqual(["x"]);
  expect(resolveCommand("/bin/bash", ["-l", "-c", "/a 'b c'"], only())).toEqual(["/a", "b c"]);
  for (const other of [["-l", "-c", "a | b"], ["-i", "-l"], ["-x", "-c", "a"], []])
    expect(resolveCommand("/bin/bash", other, only())).toEqual(["/bin/bash", ...other]);
  expect(resolveCommand("bash", args, only("/bin/sh"))).toEqual(["bash", ...args]);
});
