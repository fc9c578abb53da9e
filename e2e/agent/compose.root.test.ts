import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { answer, answersDuring, asRoot, content, expectError, openFiles, postCompose, put } from "./support/files.ts";

setDefaultTimeout(60_000);

/** btrfs on a loop file, and an overlay on it as in a sandbox; both end with the agent's mount namespace. */
const PREPARE = `
  pool=$(mktemp) && truncate -s 3G $pool && mkfs.btrfs -q -f $pool >/dev/null 2>&1 && mkdir /home/btrfs && mount -o loop $pool /home/btrfs && rm $pool
  mkdir /home/btrfs/upper /home/btrfs/work /home/btrfs/lower /home/btrfs/plain /home/overlay
  mount -t overlay overlay -o lowerdir=/home/btrfs/lower,upperdir=/home/btrfs/upper,workdir=/home/btrfs/work /home/overlay
  mkdir /home/small && mount -t tmpfs -o size=1M tmpfs /home/small
  mkdir /home/ro /home/ro/in && mount --bind /home/ro /home/ro && mount -o remount,ro,bind /home/ro
  chmod 777 /home/btrfs /home/btrfs/plain /home/overlay /home/small
`;

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent({ prepareAlone: PREPARE });
  await asRoot(agent, "mkdir /home/user/directory && mkfifo /home/user/fifo");
});
afterAll(() => agent.stop());

const compose = (sources: readonly string[], destination: string, more: object = {}) =>
  postCompose(agent, { source_paths: sources, destination, ...more });
/** Fresh files of these contents: name → text. */
const make = async (files: Record<string, string>) => {
  for (const [name, text] of Object.entries(files)) expect((await put(agent, name, text)).status).toBe(200);
};
const exists = async (path: string) => (await asRoot(agent, `[ -e '${path}' ] && echo yes || echo no`)) === "yes";
const list = (path: string) => asRoot(agent, `ls -A ${path}`);

describe("POST /files/compose: 200", () => {
  test("sources are concatenated in the order given and deleted; answers the entry", async () => {
    await make({ "c/a": "one ", "c/b": "two ", "c/c": "three" });
    expect(await answer(await compose(["c/b", "c/a", "c/c"], "c/out"))).toEqual({
      status: 200,
      body: { path: "/home/user/c/out", name: "out", type: "file" },
    });
    expect([await content(agent, "c/out"), await list("/home/user/c")]).toEqual(["two one three", "out"]);
  });

  test("parents of the destination are made; everything is owned by the user, mode 0644", async () => {
    await make({ p1: "x" });
    expect((await compose(["p1"], "made/for/it")).status).toBe(200);
    expect(await asRoot(agent, "stat -c '%U:%G %a' /home/user/made /home/user/made/for /home/user/made/for/it")).toBe(
      "user:user 755\nuser:user 755\nuser:user 644",
    );
  });

  test("username sets ownership and resolves relative paths", async () => {
    await asRoot(agent, "printf hers > /home/other/src");
    expect(await answer(await compose(["src"], "dst", { username: "other" }))).toEqual({
      status: 200,
      body: { path: "/home/other/dst", name: "dst", type: "file" },
    });
    expect(await asRoot(agent, "stat -c '%U:%G' /home/other/dst")).toBe("other:other");
  });

  test("the same source may repeat", async () => {
    await make({ r: "ab" });
    expect((await compose(["r", "./r", "r"], "repeated")).status).toBe(200);
    expect([await content(agent, "repeated"), await exists("/home/user/r")]).toEqual(["ababab", false]);
  });

  test("an existing destination is replaced, its mode kept", async () => {
    await make({ s: "new", d: "old" });
    await asRoot(agent, "chmod 640 /home/user/d");
    expect((await compose(["s"], "d")).status).toBe(200);
    expect([await content(agent, "d"), await asRoot(agent, "stat -c '%U %a' /home/user/d")]).toEqual(["new", "user 640"]);
  });

  test("a source that is a link: its target is read, the link is deleted", async () => {
    await make({ target: "linked" });
    await asRoot(agent, "ln -s target /home/user/lnk");
    expect((await compose(["lnk"], "from-link")).status).toBe(200);
    expect([await content(agent, "from-link"), await content(agent, "target"), await exists("/home/user/lnk")]).toEqual([
      "linked",
      "linked",
      false,
    ]);
  });

  test("a link at the destination is replaced itself", async () => {
    await make({ src: "x", pointed: "untouched" });
    await asRoot(agent, "ln -s pointed /home/user/dest-link");
    expect((await compose(["src"], "dest-link")).status).toBe(200);
    expect([await content(agent, "pointed"), await asRoot(agent, "stat -c %F /home/user/dest-link")]).toEqual([
      "untouched",
      "regular file",
    ]);
  });

  test("empty sources", async () => {
    await make({ e1: "", e2: "" });
    expect((await compose(["e1", "e2"], "empty")).status).toBe(200);
    expect(await content(agent, "empty")).toBe("");
  });

  test("sources on other file systems", async () => {
    await make({ "/home/small/s": "tmpfs ", "/home/btrfs/plain/b": "btrfs ", "/home/overlay/o": "overlay" });
    for (const destination of ["/home/user/mixed", "/home/btrfs/plain/mixed", "/home/overlay/mixed", "/home/small/mixed"]) {
      await make({ "/home/small/s": "tmpfs ", "/home/btrfs/plain/b": "btrfs ", "/home/overlay/o": "overlay" });
      expect((await compose(["/home/small/s", "/home/btrfs/plain/b", "/home/overlay/o"], destination)).status).toBe(200);
      expect(await content(agent, destination)).toBe("tmpfs btrfs overlay");
    }
  });

  test("sizes around blocks arrive byte for byte", async () => {
    for (const base of ["/home/user", "/home/btrfs/plain", "/home/overlay"]) {
      const script = `cd ${base} && rm -f z* && i=0 && for size in 4096 1 8192 4095 4097 0 1048576 12288 1048577 4096; do head -c $size /dev/urandom > z$i; i=$((i+1)); done && cat z0 z1 z2 z3 z4 z5 z6 z7 z8 z9 z7 | sha256sum`;
      const expected = await asRoot(agent, script);
      const sources = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 7].map((i) => `${base}/z${i}`);
      expect((await compose(sources, `${base}/zall`)).status).toBe(200);
      expect(await asRoot(agent, `sha256sum < ${base}/zall`)).toBe(expected);
    }
  });
});

describe("zero-copy", () => {
  for (const base of ["/home/btrfs/plain", "/home/overlay"]) {
    testAlone(`4 x 64 MiB takes no new disk blocks on ${base}`, async () => {
      // The parts are clones of one random file, which stays, so that the test writes 64 MiB and has what to compare with.
      const parts = [1, 2, 3, 4].map((i) => `${base}/p${i}`);
      await asRoot(
        agent,
        `head -c 67108864 /dev/urandom > ${base}/kept && for p in ${parts.join(" ")}; do cp --reflink=always ${base}/kept $p; done`,
      );
      const used = async () =>
        Number(await asRoot(agent, "sync -f /home/btrfs; btrfs filesystem usage -b /home/btrfs | awk '/^ *Used:/{print $2; exit}'"));
      const before = await used();
      expect((await compose(parts, `${base}/whole`)).status).toBe(200);
      // Metadata may move by a few blocks; data may not.
      expect((await used()) - before).toBeLessThan(1024 * 1024);
      expect(
        await asRoot(
          agent,
          `cd ${base} && stat -c %s whole; for i in 0 1 2 3; do cmp -n 67108864 -i $((i*67108864)):0 whole kept && echo equal; done; rm whole kept`,
        ),
      ).toBe("268435456\nequal\nequal\nequal\nequal");
    });
  }
});

/** The agent's own call of the kernel: whether `from`, of 1 MiB, could be shared into the new file `to`. */
const share = (from: string, to: string) =>
  asRoot(
    agent,
    `${process.execPath} -e '
      const { cloneRange } = await import("${join(import.meta.dir, "../../packages/agent/src/files/sys/copy.ts")}");
      const { openSync } = await import("node:fs");
      const [from, to] = [openSync("${from}", "r"), openSync("${to}", "w")];
      console.log(cloneRange({ from, fromOffset: 0, to, toOffset: 0, length: 1048576 }));'; stat -c %s ${to}; filefrag -v ${to} | grep -q shared && echo shared || true`,
  );

testAlone("FICLONERANGE shares extents where the file systems can, and says so where they can't", async () => {
  await asRoot(
    agent,
    "head -c 1048576 /dev/urandom > /home/btrfs/plain/mib && sync -f /home/btrfs && cp /home/btrfs/plain/mib /home/overlay/",
  );
  await asRoot(agent, "sync -f /home/overlay");
  expect(await share("/home/btrfs/plain/mib", "/home/btrfs/plain/shared")).toBe("true\n1048576\nshared");
  expect(await share("/home/overlay/mib", "/home/overlay/shared")).toBe("true\n1048576\nshared");
  expect(await share("/home/btrfs/plain/mib", "/home/user/copy")).toBe("false\n0");
});

describe("400", () => {
  test("body that is not JSON, not an object, or has members of a wrong type", async () => {
    for (const body of [
      "",
      "{",
      "[]",
      "null",
      '"x"',
      { source_paths: "a", destination: "b" },
      { source_paths: [1], destination: "b" },
      { source_paths: ["a"], destination: 5 },
      { source_paths: ["a"], destination: "b", username: 5 },
    ]) {
      await expectError(await postCompose(agent, body), 400, /^invalid request body: /);
    }
  });

  test("source_paths must not be empty; destination is required", async () => {
    await expectError(await compose([], "x"), 400, "source_paths must not be empty");
    await expectError(await postCompose(agent, { destination: "x" }), 400, "source_paths must not be empty");
    await expectError(await compose(["x"], ""), 400, "destination is required");
    await expectError(await postCompose(agent, { source_paths: ["x"] }), 400, "destination is required");
  });

  test("a path that can't be resolved", async () => {
    await make({ ok: "x" });
    await expectError(await compose(["~other/x"], "d"), 400, /cannot expand/);
    await expectError(await compose(["ok"], "~other/x"), 400, /cannot expand/);
    await expectError(await compose(["o\0k"], "x"), 400, /NUL/);
    expect(await exists("/home/user/ok")).toBe(true);
  });

  test("source equal to destination, by identity and not by spelling", async () => {
    await make({ "i/same": "x", "i/b": "y" });
    await asRoot(agent, "cd /home/user/i && ln -s same link && ln same hard && ln -s . self");
    for (const source of ["i/same", "./i/same", "/home/user/./i/same", "i/../i/same", "i/link", "i/hard", "i/self/same"]) {
      await expectError(await compose(["i/b", source], "i/same"), 400, `source path "${source}" cannot be the same as destination`);
    }
    for (const source of ["/home/user/i/new", "i/self/new"]) {
      await expectError(await compose([source], "i/new"), 400, `source path "${source}" cannot be the same as destination`);
    }
    expect(await list("/home/user/i")).toBe("b\nhard\nlink\nsame\nself");
  });

  test("source path is not a regular file", async () => {
    for (const source of ["directory", "fifo", "/dev/null"])
      await expectError(await compose([source], "x"), 400, `source path is not a regular file: ${source}`);
  });

  test("a file that the kernel makes up as it is read, with a size of 0 or of a page", async () => {
    await make({ "up/a": "x" });
    const files = { "/proc/version": "up/new/out", "/sys/kernel/mm/transparent_hugepage/enabled": "up/out" };
    for (const [source, destination] of Object.entries(files)) {
      const text = `source path is a file that the kernel makes up as it is read: ${source}`;
      await expectError(await compose(["up/a", source], destination), 400, text);
    }
    expect(await list("/home/user/up")).toBe("a");
  });

  test("a destination that is a directory or has a file among its parents", async () => {
    await make({ ok: "x" });
    await expectError(await compose(["ok"], "directory"), 400, /directory/);
    await expectError(await compose(["ok"], "directory/"), 400, /directory/);
    await expectError(await compose(["ok"], "/dev/null"), 400, /not a regular file/);
    await make({ "a-file": "x" });
    await expectError(await compose(["ok"], "a-file/below"), 400, /not a directory/);
    expect(await exists("/home/user/ok")).toBe(true);
  });
});

describe("other failures", () => {
  test("401 for a user that can't be looked up", async () => {
    await expectError(await compose(["a"], "b", { username: "nobody-here" }), 401, /^error looking up user 'nobody-here': /);
    await expectError(await compose(["a"], "b", { username: "" }), 401, /^error looking up user '': /);
  });

  test("404 source file not found, checked in order before anything is written", async () => {
    await make({ first: "x" });
    await expectError(await compose(["first", "missing"], "not/made"), 404, "source file not found: missing");
    await expectError(await compose(["first", "missing/deep"], "not/made"), 404, "source file not found: missing/deep");
    expect([await exists("/home/user/first"), await exists("/home/user/not")]).toEqual([true, false]);
    await expectError(await compose(["missing", "directory"], "x"), 404, /missing/);
    await expectError(await compose(["directory", "missing"], "x"), 400, /directory/);
  });

  test("order of checks (docs/contract/agent.md): body, sources, destination, user, each source in turn, then what is at the destination", async () => {
    const bad = { source_paths: [], destination: "", username: "nobody-here" };
    await expectError(await postCompose(agent, bad), 400, "source_paths must not be empty");
    await expectError(await postCompose(agent, { ...bad, source_paths: ["missing"] }), 400, "destination is required");
    await expectError(await postCompose(agent, { ...bad, source_paths: ["missing"], destination: "~other/x" }), 401, /looking up user/);
    await expectError(await compose(["missing"], "~other/x"), 400, /cannot expand/);
    await expectError(await compose(["directory", "missing", "d"], "d"), 400, "source path is not a regular file: directory");
    await expectError(await compose(["missing", "d"], "d"), 404, "source file not found: missing");
    await expectError(await compose(["missing"], "directory"), 404, "source file not found: missing");
  });

  testAlone("403 where the file system is read-only; sources stay", async () => {
    await make({ src5: "x" });
    await expectError(await compose(["src5"], "/home/ro/in/out"), 403, /read-only/);
    expect(await exists("/home/user/src5")).toBe(true);
  });

  testAlone("507 not enough disk space; old destination and sources intact, nothing left", async () => {
    await asRoot(agent, "rm -f /home/small/*");
    await make({ "/home/small/dest": "before", big: "x".repeat(600_000) });
    await expectError(await compose(["big", "big"], "/home/small/dest"), 507, /not enough disk space available/);
    expect([await content(agent, "/home/small/dest"), await exists("/home/user/big"), await list("/home/small")]).toEqual([
      "before",
      true,
      "dest",
    ]);
  });

  test("a source that is written meanwhile is not lost", async () => {
    // Many large sources on tmpfs, which copies, so that there is time; the last one grows.
    await asRoot(agent, "cd /home/user && for i in 1 2 3 4 5 6 7 8; do head -c 33554432 /dev/zero > part$i; done");
    const parts = [1, 2, 3, 4, 5, 6, 7].map((i) => `part${i}`);
    const sources = [...parts, ...parts, ...parts, "part8"];
    const writer = asRoot(
      agent,
      "cd /home/user && for i in $(seq 1 4000); do echo more >> part8 || break; [ -e grown ] && break; sleep 0.005; done",
    );
    await asRoot(agent, "while [ $(stat -c %s /home/user/part8) -eq 33554432 ]; do sleep 0.005; done");
    await expectError(await compose(sources, "grown"), 409, "source file changed while it was composed: part8");
    await asRoot(agent, "touch /home/user/grown");
    await writer;
    expect(await asRoot(agent, "cd /home/user && ls part? | wc -l && rm part? grown")).toBe("8");
  });

  test("a source that is written after it was copied, while other sources are being copied, is not lost", async () => {
    await asRoot(agent, "mkdir /home/user/late && cd /home/user/late && printf first > a && head -c 33554432 /dev/zero > part");
    const writer = asRoot(agent, "cd /home/user/late && until ls -A | grep -q boxyard; do :; done; echo precious >> a");
    await expectError(
      await compose(["late/a", ...new Array<string>(30).fill("late/part")], "late/out"),
      409,
      "source file changed while it was composed: late/a",
    );
    await writer;
    expect(await asRoot(agent, "cd /home/user/late && ls -A && cat a && rm -r ../late")).toBe("a\npart\nfirstprecious");
  });

  test("the agent answers others while it copies", async () => {
    await asRoot(agent, "head -c 268435456 /dev/zero > /home/user/huge");
    const composing = compose(["huge", "huge"], "/home/user/huge2");
    expect(await answersDuring(agent, composing)).toBeGreaterThan(10);
    expect((await composing).status).toBe(200);
    await asRoot(agent, "rm /home/user/huge2");
  });

  testAlone("no file stays open and no temporary file is left", async () => {
    const before = await openFiles(agent);
    await make({ k1: "x", k2: "y" });
    for (let i = 0; i < 20; i++)
      await Promise.all([
        compose(["k1", "missing"], "k"),
        compose(["k1"], "directory"),
        compose(["k1", "k2"], "/home/ro/in/x"),
        compose([], "k"),
      ]);
    expect((await compose(["k1", "k2"], "k")).status).toBe(200);
    expect([await openFiles(agent), await asRoot(agent, "find /home -xdev -name '.boxyard-*' | wc -l")]).toEqual([before, "0"]);
  });
});
