import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { initialise, startAgent, testAlone } from "./support/agent-under-test.ts";
import { answersDuring, asRoot, content, openFiles, put } from "./support/files.ts";
import { type CallOptions, unary } from "./support/rpc.ts";
import { collect, readUntil, start } from "./support/run.ts";

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
/** A directory as templates have them: its content is in a lower layer, from which the kernel moves no directory. */
const LAYERED = `mkdir -p /run/layers/lower /run/layers/upper /run/layers/work /home/layered
python3 -c '
import os
os.chdir("/run/layers/lower"); os.mkdir("deep"); os.chdir("deep")
for i in range(300):
    os.mkdir("dddddddd"); open("file", "w").close(); os.chdir("dddddddd")'
mount -t overlay overlay -o redirect_dir=off,lowerdir=/run/layers/lower,upperdir=/run/layers/upper,workdir=/run/layers/work /home/layered`;
beforeAll(async () => {
  const elsewhere = "mkdir /home/elsewhere && mount -t tmpfs tmpfs /home/elsewhere && chmod 777 /home/elsewhere";
  const fuse = `python3 ${import.meta.dir}/support/fuse-directory.py`;
  const directories = `mkdir -p /home/fuse /home/other/own && ${fuse} /home/fuse && ${fuse} /home/other/own 1001`;
  agent = await startAgent({ prepareAlone: [elsewhere, LAYERED, directories].join("\n") });
});
afterAll(() => agent.stop());

const call = (method: string, message: unknown, options: CallOptions = {}) =>
  unary(agent, `filesystem.Filesystem/${method}`, message, options);
const ok = async (method: string, message: unknown, options: CallOptions = {}) => {
  const { status, body } = await call(method, message, options);
  expect({ status, body: status === 200 ? {} : body }).toEqual({ status: 200, body: {} });
  return body;
};
const fails = async (method: string, message: unknown, status: number, code: string, text: string | RegExp) => {
  const answer = await call(method, message);
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
  if (typeof text === "string") expect(answer.body.message).toBe(text);
  else expect(answer.body.message).toMatch(text);
};
const entry = async (path: string) => (await ok("Stat", { path })).entry;

describe("Stat: EntryInfo", () => {
  test("a file: name, type, path, size as text, mode, permissions, owner, group, modifiedTime", async () => {
    await asRoot(
      agent,
      "cd /home/user && printf hello > f && chmod 640 f && chown user:staff f && touch -d 2024-02-03T04:05:06.789012345Z f",
    );
    expect(await entry("f")).toEqual({
      name: "f",
      type: "FILE_TYPE_FILE",
      path: "/home/user/f",
      size: "5",
      mode: 0o640,
      permissions: "-rw-r-----",
      owner: "user",
      group: "staff",
      modifiedTime: "2024-02-03T04:05:06.789012345Z",
    });
  });

  test("a directory; numbers where the owner has no name", async () => {
    await asRoot(agent, "cd /home/user && mkdir -m 1777 d && chown 4321:8765 d");
    const { name, type, mode, permissions, owner, group } = await entry("/home/user/d");
    expect({ name, type, mode, permissions, owner, group }).toEqual({
      name: "d",
      type: "FILE_TYPE_DIRECTORY",
      mode: 0o777,
      permissions: "dtrwxrwxrwx",
      owner: "4321",
      group: "8765",
    });
  });

  testAlone("permissions of other kinds in Go's spelling; type is unspecified", async () => {
    await asRoot(agent, "cd /home/user && mkfifo -m 600 p && mknod -m 620 c c 1 3 && mknod -m 660 b b 7 0 && touch s && chmod 6755 s");
    const seen = async (path: string) => {
      const { type, permissions } = await entry(path);
      return [type, permissions];
    };
    // The default of an enum is left out.
    expect(await Promise.all(["p", "c", "b", "s"].map(seen))).toEqual([
      [undefined, "prw-------"],
      [undefined, "Dcrw--w----"],
      [undefined, "Drw-rw----"],
      ["FILE_TYPE_FILE", "ugrwxr-xr-x"],
    ]);
  });

  test("a directory: its size is that of a block at least, whatever the file system says", async () => {
    expect(Number((await entry("/home/user")).size)).toBeGreaterThanOrEqual(4096);
  });

  test("a link: type and mode are the target's, permissions and size its own, target resolved, isSymlink", async () => {
    await asRoot(agent, "cd /home/user && printf x > t && chmod 604 t && ln -s t l1 && ln -s l1 l2");
    const { type, mode, permissions, size, symlinkTarget, isSymlink } = await entry("l2");
    expect({ type, mode, permissions, size, symlinkTarget, isSymlink }).toEqual({
      type: "FILE_TYPE_FILE",
      mode: 0o604,
      permissions: "Lrwxrwxrwx",
      size: "2",
      symlinkTarget: "/home/user/t",
      isSymlink: true,
    });
  });

  test("a dangling link: type unspecified, its own path as target, isSymlink", async () => {
    await asRoot(agent, "cd /home/user && ln -s nowhere dangling && ln -s round round");
    for (const name of ["dangling", "round"]) {
      const { type, symlinkTarget, isSymlink } = await entry(name);
      expect({ type, symlinkTarget, isSymlink }).toEqual({ type: undefined, symlinkTarget: `/home/user/${name}`, isSymlink: true });
    }
  });

  test("metadata: user.e2b.* only, text only, however it was set", async () => {
    await put(agent, "meta", "x", { headers: { "X-Metadata-A": "1" } });
    await asRoot(
      agent,
      `python3 -c 'import os
for n, v in (("user.e2b.b", "2 ü".encode()), ("user.e2b.bad", b"\\xff"), ("user.other", b"3")): os.setxattr("/home/user/meta", n, v)'`,
    );
    expect((await entry("meta")).metadata).toEqual({ a: "1", b: "2 ü" });
    expect((await entry("f")).metadata).toBeUndefined();
  });

  test("path as requested, not cleaned; the root", async () => {
    expect((await entry("/home/./user/../user/f")).path).toBe("/home/./user/../user/f");
    expect(await entry("/")).toMatchObject({ name: "/", path: "/", type: "FILE_TYPE_DIRECTORY" });
  });

  test("missing is not_found, also below a file; ~other and NUL are invalid_argument", async () => {
    await fails("Stat", { path: "none" }, 404, "not_found", "file not found: /home/user/none");
    await fails("Stat", { path: "f/below" }, 404, "not_found", "file not found: /home/user/f/below");
    await fails("Stat", { path: "~root" }, 400, "invalid_argument", /cannot expand/);
    await fails("Stat", { path: "a\0b" }, 400, "invalid_argument", /NUL/);
    await fails("Stat", { path: "round/x" }, 400, "invalid_argument", /too many symbolic links/);
  });

  test("the user of the Basic header decides about relative paths; unknown is unauthenticated", async () => {
    expect((await ok("Stat", { path: "~" }, { user: "other" })).entry.path).toBe("/home/other");
    const { status, body } = await call("Stat", { path: "~" }, { user: "nobody-here" });
    expect([status, body]).toEqual([401, { code: "unauthenticated", message: "invalid username: 'nobody-here'" }]);
  });

  test("an empty path is the home, or the default working directory", async () => {
    expect((await entry("")).path).toBe("/home/user");
    const other = await startAgent({ init: "open" });
    try {
      await initialise(other, { defaultUser: "user", defaultWorkdir: "/home/other" });
      const { body } = await unary(other, "filesystem.Filesystem/Stat", { path: "" });
      expect(body.entry.path).toBe("/home/other");
      expect((await unary(other, "filesystem.Filesystem/Stat", { path: "." })).body.entry.path).toBe("/home/user");
    } finally {
      await other.stop();
    }
  });
});

describe("the oldest client (docs/contract/agent.md, Oldest client)", () => {
  test("User-Agent connect-python: entries have name, type and path alone, and X-E2B-Legacy-SDK says so", async () => {
    await asRoot(agent, "mkdir /home/user/old && touch /home/user/old/f");
    const headers = { "User-Agent": "connect-python" };
    const file = { name: "f", type: "FILE_TYPE_FILE", path: "/home/user/old/f" };
    const listed = await call("ListDir", { path: "old" }, { headers });
    expect([listed.body, listed.headers.get("X-E2B-Legacy-SDK")]).toEqual([{ entries: [file] }, "true"]);
    expect((await call("Stat", { path: "old/f" }, { headers })).body).toEqual({ entry: file });
    const made = { name: "d", type: "FILE_TYPE_DIRECTORY", path: "/home/user/old/d" };
    expect((await call("MakeDir", { path: "old/d" }, { headers })).body).toEqual({ entry: made });
    const moved = await call("Move", { source: "old/f", destination: "old/g" }, { headers });
    expect(moved.body).toEqual({ entry: { name: "g", type: "FILE_TYPE_FILE", path: "/home/user/old/g" } });
    const other = await call("Stat", { path: "old/g" }, { headers: { "User-Agent": "connect-python/2" } });
    expect([other.body.entry.owner, other.headers.get("X-E2B-Legacy-SDK")]).toEqual(["root", null]);
  });
});

describe("MakeDir", () => {
  test("mkdir -p, 0755, owned by the user for every level created; answers the entry", async () => {
    expect((await ok("MakeDir", { path: "mk/a/b" })).entry).toMatchObject({
      name: "b",
      path: "/home/user/mk/a/b",
      type: "FILE_TYPE_DIRECTORY",
      permissions: "drwxr-xr-x",
      owner: "user",
      group: "user",
    });
    expect(await asRoot(agent, "stat -c '%U %a' /home/user/mk /home/user/mk/a")).toBe("user 755\nuser 755");
  });

  test("a directory that exists is already_exists, also through a link", async () => {
    await asRoot(agent, "ln -s mk /home/user/mk-link");
    await fails("MakeDir", { path: "mk" }, 409, "already_exists", "directory already exists: /home/user/mk");
    await fails("MakeDir", { path: "mk-link" }, 409, "already_exists", "directory already exists: /home/user/mk-link");
    await fails("MakeDir", { path: "/" }, 409, "already_exists", "directory already exists: /");
  });

  test("a file in its place or among its parents is invalid_argument", async () => {
    await fails("MakeDir", { path: "f" }, 400, "invalid_argument", /not a directory/);
    await fails("MakeDir", { path: "f/x" }, 400, "invalid_argument", /not a directory/);
  });
});

describe("Move", () => {
  test("renames, makes the destination's parents, answers the entry there; metadata goes along", async () => {
    await put(agent, "mv/a", "moved", { headers: { "X-Metadata-K": "v" } });
    expect((await ok("Move", { source: "mv/a", destination: "mv/new/b" })).entry).toMatchObject({
      path: "/home/user/mv/new/b",
      name: "b",
      size: "5",
      metadata: { k: "v" },
    });
    expect([await content(agent, "mv/new/b"), await asRoot(agent, "ls /home/user/mv; stat -c %U /home/user/mv/new")]).toEqual([
      "moved",
      "new\nuser",
    ]);
  });

  test("replaces a file; a directory goes with its content; a link is moved itself", async () => {
    await asRoot(agent, "cd /home/user/mv && printf 1 > x && printf 2 > y && mkdir -p dir/sub && printf 3 > dir/sub/z && ln -s x lnk");
    await ok("Move", { source: "mv/x", destination: "mv/y" });
    expect(await content(agent, "mv/y")).toBe("1");
    await ok("Move", { source: "mv/dir", destination: "mv/dir2" });
    expect(await content(agent, "mv/dir2/sub/z")).toBe("3");
    expect((await ok("Move", { source: "mv/lnk", destination: "mv/lnk2" })).entry.isSymlink).toBe(true);
  });

  test("source file not found: not_found", async () => {
    await fails("Move", { source: "mv/none", destination: "mv/x" }, 404, "not_found", "source file not found: /home/user/mv/none");
    await fails("Move", { source: "none/none", destination: "mv/x" }, 404, "not_found", "source file not found: /home/user/none/none");
  });

  test("onto a directory that is not empty, into itself, or of the root: invalid_argument", async () => {
    await asRoot(agent, "mkdir -p /home/user/mv/full/x /home/user/mv/other");
    await fails("Move", { source: "mv/other", destination: "mv/full" }, 400, "invalid_argument", /not empty/);
    await fails("Move", { source: "mv/full", destination: "mv/full/x/y" }, 400, "invalid_argument", /./);
    await fails("Move", { source: "/", destination: "mv/x" }, 400, "invalid_argument", "path names no entry of a directory: /");
    await fails("Move", { source: "mv/y", destination: "mv/full/.." }, 400, "invalid_argument", /: directory not empty$/);
  });
});

describe("ListDir", () => {
  const paths = async (path: string, depth?: number) =>
    ((await ok("ListDir", { path, depth })).entries ?? []).map((e: { path: string }) => e.path);

  beforeAll(() =>
    asRoot(
      agent,
      "cd /home/user && mkdir -p ls/b/c/d ls/a && touch ls/b/c/d/deep ls/b/x ls/z && ln -s b ls/link && ln -s ls ls-link && ln -s ls-loop ls-loop && mkdir ls-empty",
    ),
  );

  test("depth 0 and absent mean 1; lexical order", async () => {
    const expected = ["a", "b", "link", "z"].map((name) => `/home/user/ls/${name}`);
    expect([await paths("ls", 0), await paths("ls"), await paths("ls", 1)]).toEqual([expected, expected, expected]);
  });

  test("recursion to depth levels, each directory before its content; links are not descended", async () => {
    expect(await paths("ls", 3)).toEqual(["a", "b", "b/c", "b/c/d", "b/x", "link", "z"].map((name) => `/home/user/ls/${name}`));
    expect((await paths("ls", 99)).length).toBe(8);
  });

  test("the path itself may be a link; entries keep the requested prefix", async () => {
    expect(await paths("ls-link")).toEqual(["a", "b", "link", "z"].map((name) => `/home/user/ls-link/${name}`));
    expect(await paths("/home/user/./ls/")).toEqual(["a", "b", "link", "z"].map((name) => `/home/user/./ls/${name}`));
    expect(await paths("/")).toContain("/home");
  });

  test("entries are whole", async () => {
    const { entries } = await ok("ListDir", { path: "ls" });
    expect(entries[2]).toEqual((await ok("Stat", { path: "ls/link" })).entry);
  });

  test("an empty directory has no entries", async () => {
    expect(await paths("ls-empty")).toEqual([]);
  });

  test("missing is not_found, a file invalid_argument, a loop failed_precondition", async () => {
    await fails("ListDir", { path: "none" }, 404, "not_found", "path not found: /home/user/none");
    await fails("ListDir", { path: "f" }, 400, "invalid_argument", "path is not a directory: /home/user/f");
    await fails("ListDir", { path: "ls-loop" }, 400, "failed_precondition", /symbolic links/);
  });

  test("a name that is no text is listed with its odd bytes replaced, and what is below it too", async () => {
    await asRoot(agent, "mkdir /home/user/odd && cd /home/user/odd && printf abc > $(printf 'n\\377') && mkdir -p $(printf 'o\\377')/d/e");
    const { entries } = await ok("ListDir", { path: "odd", depth: 3 });
    expect(entries).toMatchObject([
      { name: "n\ufffd", size: "3", type: "FILE_TYPE_FILE" },
      { name: "o\ufffd", type: "FILE_TYPE_DIRECTORY" },
      { name: "d", path: "/home/user/odd/o\ufffd/d", type: "FILE_TYPE_DIRECTORY" },
      { name: "e", path: "/home/user/odd/o\ufffd/d/e", type: "FILE_TYPE_DIRECTORY" },
    ]);
  });

  test("the order is that of bytes", async () => {
    await asRoot(agent, "mkdir /home/user/ls-order && cd /home/user/ls-order && touch \u{1f600} \uff5e \ue000 z");
    const names = ["z", "\ue000", "\uff5e", "\u{1f600}"];
    expect(await paths("ls-order")).toEqual(names.map((name) => `/home/user/ls-order/${name}`));
  });

  testAlone("a directory that can't be read is an error, at the top and below, and never an empty answer", async () => {
    // The file system of the test has no such call, and answers ENOSYS.
    await fails("ListDir", { path: "/home/fuse" }, 500, "internal", "list '/home/fuse': not supported by the file system");
    await fails("ListDir", { path: "/home", depth: 2 }, 500, "internal", "list '/home/fuse': not supported by the file system");
    expect(await paths("/home")).toContain("/home/fuse");
  });

  testAlone("a directory that not even root may read is left out below, and an error at the top", async () => {
    await asRoot(agent, "touch /home/other/z");
    expect(await paths("/home/other", 2)).toEqual(["/home/other/z"]);
    await fails("ListDir", { path: "/home/other/own" }, 403, "permission_denied", "list '/home/other/own': permission denied");
  });

  test("100,000 entries are listed while others are answered", async () => {
    // One call for each file; touch(1) makes five.
    await asRoot(
      agent,
      `python3 -c '
import os
os.mkdir("/home/user/many"); os.chdir("/home/user/many")
for i in range(100000): os.mknod("file-%06d" % (i + 1))'`,
    );
    const listing = call("ListDir", { path: "many" });
    expect(await answersDuring(agent, listing)).toBeGreaterThan(20);
    const { entries } = (await listing).body;
    expect([entries.length, entries[0].name, entries[99_999].name]).toEqual([100_000, "file-000001", "file-100000"]);
  });

  test("many names that are no text are listed once each, and soon", async () => {
    await asRoot(
      agent,
      `python3 -c '
import os
os.mkdir("/home/user/bytes")
for i in range(5000): os.mknod(b"/home/user/bytes/\\xff%d\\xfe" % i)'`,
    );
    const { entries } = await ok("ListDir", { path: "bytes" });
    expect(new Set(entries.map((e: { name: string }) => e.name)).size).toBe(5_000);
    expect(entries[0]).toMatchObject({ name: "\ufffd0\ufffd", type: "FILE_TYPE_FILE" });
  });

  test("of a tree that changes meanwhile, what vanishes is left out", async () => {
    await asRoot(agent, "mkdir /home/user/churn");
    const changing = asRoot(
      agent,
      "cd /home/user && for i in 1 2 3 4 5; do mkdir -p churn/a/b && touch churn/a/b/f && rm -r churn/a; done",
    );
    for (let i = 0; i < 20; i++) expect((await call("ListDir", { path: "churn", depth: 5 })).status).toBe(200);
    await changing;
  });
});

describe("Remove", () => {
  test("a file, a link and not its target, a directory with everything below", async () => {
    await asRoot(
      agent,
      "cd /home/user && mkdir -p rm/dir/sub rm/keep && touch rm/file rm/dir/sub/x rm/keep/y && ln -s ../../keep rm/dir/sub/out && ln -s keep rm/link",
    );
    for (const path of ["rm/file", "rm/link", "rm/dir"]) expect(await ok("Remove", { path })).toEqual({});
    expect(await asRoot(agent, "cd /home/user/rm && find . | sort")).toBe(".\n./keep\n./keep/y");
    await ok("Remove", { path: "/home/user/rm/keep/" });
    expect(await asRoot(agent, "ls -A /home/user/rm")).toBe("");
  });

  test("a missing path succeeds, also below what is missing or a file", async () => {
    for (const path of ["none", "none/none", "f/x"]) expect(await ok("Remove", { path })).toEqual({});
  });

  test("the root and . are refused", async () => {
    for (const path of ["/", "//", "/home/user/.", "/home/user/.."])
      await fails("Remove", { path }, 400, "invalid_argument", /^path names no entry of a directory: /);
    expect(await asRoot(agent, "ls -d /home/user")).toBe("/home/user");
  });

  testAlone("FIFOs, devices, names that are no text, directories without any right", async () => {
    await asRoot(
      agent,
      "cd /home/user && mkdir -p odds/locked/in && mkfifo odds/p && mknod odds/c c 1 3 && touch odds/$(printf 'n\\377') odds/locked/in/f && chmod 000 odds/locked/in odds/locked",
    );
    await ok("Remove", { path: "odds" });
    await fails("Stat", { path: "odds" }, 404, "not_found", "file not found: /home/user/odds");
  });

  test("a tree far deeper than a path may be long", async () => {
    await asRoot(
      agent,
      `python3 -c '
import os
os.chdir("/home/user"); os.mkdir("deep"); os.chdir("deep")
for i in range(3000):
    os.mkdir("dddddddd"); os.chdir("dddddddd")
open("bottom", "w").close()'`,
    );
    const before = await openFiles(agent);
    await ok("Remove", { path: "deep" });
    expect([(await call("Stat", { path: "deep" })).status, await openFiles(agent)]).toEqual([404, before]);
  });

  test("20,000 files are removed while others are answered", async () => {
    const files = "python3 -c 'import os\nfor i in range(20000): os.mknod(str(i))'";
    await asRoot(agent, `mkdir -p /home/user/lots/a && cd /home/user/lots/a && ${files}`);
    const removing = call("Remove", { path: "lots" });
    expect(await answersDuring(agent, removing)).toBeGreaterThan(5);
    expect((await removing).status).toBe(200);
    expect((await call("Stat", { path: "lots" })).status).toBe(404);
  });

  testAlone("a deep tree of the template", async () => {
    const before = await openFiles(agent);
    await ok("Remove", { path: "/home/layered/deep" });
    expect([await asRoot(agent, "ls -A /home/layered"), await openFiles(agent)]).toEqual(["", before]);
  });

  test("exchanging a directory for a link meanwhile never leads out of the tree", async () => {
    await asRoot(agent, "mkdir -p /home/elsewhere/precious && touch /home/elsewhere/precious/gold");
    // RENAME_EXCHANGE, repeatedly: between any two calls of the agent, one is the other.
    const racing = await start(
      agent,
      {
        process: {
          cmd: "python3",
          args: [
            "-c",
            `
import ctypes, os
libc = ctypes.CDLL(None)
os.chdir("/home/user")
while True:
    try:
        os.makedirs("race/a/b")
        os.symlink("/home/elsewhere/precious", "race/l")
        print("ready", flush=True)
    except OSError: pass
    while libc.renameat2(-100, b"race/a", -100, b"race/l", 2) == 0: pass
    try: os.unlink("race/l")
    except OSError: pass`,
          ],
        },
      },
      { user: "root" },
    );
    const { pid } = await readUntil(racing, ({ stdout }) => stdout.includes("ready"));
    for (let i = 0; i < 300; i++) await call("Remove", { path: "race" });
    await asRoot(agent, `kill -9 ${pid}`);
    await collect(racing);
    expect(await asRoot(agent, "ls /home/elsewhere/precious/gold")).toBe("/home/elsewhere/precious/gold");
    await ok("Remove", { path: "race" });
  });
});
