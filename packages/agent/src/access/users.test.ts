import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSystemFile } from "./system-file.ts";
import { SystemUsers } from "./users.ts";

let etc = "";
beforeEach(() => {
  etc = mkdtempSync(join(tmpdir(), "boxyard-etc-"));
});
afterEach(() => rmSync(etc, { recursive: true }));
const write = (name: string, text: string) => writeFileSync(join(etc, name), text);

describe("SystemUsers", () => {
  test("reads ids, home, shell and groups: primary first, each once", () => {
    write("passwd", "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann:/home/ann:/bin/zsh\n");
    write("group", "root:x:0:\nann:x:1000:ann\nstaff:x:50:bob,ann\nother:x:60:bob\nwheel:x:10: ann \n");
    const users = new SystemUsers(etc);
    expect(users.byName("ann")).toEqual({
      name: "ann",
      uid: 1000,
      gid: 1000,
      home: "/home/ann",
      shell: "/bin/zsh",
      groups: [1000, 50, 10],
    });
    expect(users.byName("bob")).toBeUndefined();
    expect([users.userName(1000), users.userName(7), users.groupName(50), users.groupName(8)]).toEqual(["ann", "7", "staff", "8"]);
  });

  test("root is known without any file, other users are not", () => {
    const users = new SystemUsers(join(etc, "missing"));
    expect(users.byName("root")).toEqual({ name: "root", uid: 0, gid: 0, home: "/root", shell: "/bin/sh", groups: [0] });
    expect([users.byName("user"), users.byName(""), users.userName(0), users.groupName(0)]).toEqual([undefined, undefined, "root", "root"]);
  });

  test("without /etc/passwd a number is a user of that id", () => {
    const users = new SystemUsers(etc);
    expect(users.byName("1000")).toEqual({ name: "1000", uid: 1000, gid: 0, home: "/", shell: "", groups: [0] });
    expect(["0", "-1", "4294967295", "1x"].map((name) => users.byName(name)?.uid)).toEqual([0, undefined, undefined, undefined]);
    write("passwd", "a:x:1:1::/:\n");
    expect(users.byName("1000")).toBeUndefined();
  });

  test("malformed lines are skipped", () => {
    write("passwd", "\n::::\nnoids:x\nneg:x:-1:0::/:\nbig:x:4294967295:0::/:\ntext:x:a:b::/:\nok:x:5:6\n# comment\n");
    const users = new SystemUsers(etc);
    expect(["noids", "neg", "big", "text", "# comment"].map((name) => users.byName(name))).toEqual(Array(5).fill(undefined));
    expect(users.byName("ok")).toEqual({ name: "ok", uid: 5, gid: 6, home: "/", shell: "", groups: [6] });
  });

  test("a changed file is read again at the next lookup", () => {
    write("passwd", "a:x:1:1::/:\n");
    const users = new SystemUsers(etc);
    expect(users.byName("b")).toBeUndefined();
    write("passwd", "a:x:1:1::/:\nb:x:2:2::/:\n");
    expect(users.byName("b")?.uid).toBe(2);
  });
});

describe("readSystemFile", () => {
  test("reads regular files only, and at most maxBytes", () => {
    write("file", "x".repeat(200_000));
    symlinkSync("/dev/zero", join(etc, "zero"));
    expect(readSystemFile(join(etc, "file"), 100_000)?.length).toBe(100_000);
    for (const path of [join(etc, "zero"), etc, join(etc, "none"), "/dev/null"]) expect(readSystemFile(path, 100)).toBeUndefined();
  });

  test("reads files that report size 0, and UTF-8 characters that cross the end of its buffer", () => {
    expect(readSystemFile("/proc/self/status", 65_536)).toContain("Name:");
    write("umlauts", "ü".repeat(100_001));
    expect(readSystemFile(join(etc, "umlauts"), 1_000_000)).toBe("ü".repeat(100_001));
  });
});
