import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { digestOf, makeTar, type TarEntry } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import type { PoolStorage } from "../parts.ts";
import { makePoolImage, openPool, poolPaths } from "../pool-storage/index.ts";
import { createSubvolume } from "../sys/btrfs.ts";
import { getxattr, setxattr } from "../sys/libc.ts";
import { findLoop } from "../sys/loop.ts";
import { runCommand } from "../sys/run.ts";
import { LayerStore, sweepMaking } from "./index.ts";

const dataDir = mkdtempSync(join(tmpdir(), "boxyard-layers-"));
const paths = poolPaths(dataDir);
const store = new LayerStore(dataDir);
const signal = new AbortController().signal;
let pool: PoolStorage;

beforeAll(async () => {
  await makePoolImage(paths.image, 4 * 1024 ** 3);
  pool = await openPool(dataDir);
}, 60_000);
afterAll(async () => {
  try {
    await pool?.release();
    await eventually("the loop device is gone", () => findLoop(paths.image) === undefined, { withinMs: 20_000 });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 60_000);

const stream = (bytes: Uint8Array) => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
const treeOf = (digest: string) => `${paths.layers}/${digest.slice(7)}`;
const importTar = (tar: Uint8Array, more = {}) => store.import(stream(tar), { signal, ...more });
const fresh = (...entries: readonly TarEntry[]) => makeTar([{ path: "unique", text: crypto.randomUUID() }, ...entries]);
const importTree = async (...entries: readonly TarEntry[]) => treeOf((await importTar(fresh(...entries))).digest);
const exported = async (digest: string) => new Response(store.export(digest, signal)).bytes();

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof AppError ? error.reason : String(error)),
  );
}

/** Everything in the pool except complete layers. */
const leftovers = () => ({
  making: existsSync(paths.making) ? readdirSync(paths.making) : [],
  layers: readdirSync(paths.layers).filter((name) => !/^[0-9a-f]{64}$/.test(name)),
  facts: (existsSync(paths.facts) ? readdirSync(paths.facts) : []).filter((hex) => !existsSync(`${paths.layers}/${hex}`)),
});
const NONE = { making: [], layers: [], facts: [] };

/** Version 2: effective, permitted = CAP_NET_RAW. */
const NET_RAW = Buffer.from("0100000200200000000000000000000000000000", "hex");

describe("a layer's tree", () => {
  test("has the owners, modes, times, links and attributes of its tar", async () => {
    const tree = await importTree(
      { path: "./", type: "directory", mode: 0o755 },
      { path: "etc/", type: "directory", mode: 0o750, uid: 3, gid: 4, mtime: 1_000_000 },
      { path: "etc/file", text: "hello", mode: 0o4755, uid: 1000, gid: 1001, mtime: 1_234_567 },
      { path: "etc/hard", type: "hardlink", linkTo: "./etc/file" },
      { path: "etc/soft", type: "symlink", linkTo: "/etc/file", uid: 7, mtime: 99 },
      { path: "pipe", type: "fifo", mode: 0o622 },
      {
        path: "ping",
        text: "x",
        mode: 0o755,
        uid: 5,
        pax: { "SCHILY.xattr.security.capability": NET_RAW, "SCHILY.xattr.user.note": "yes" },
      },
      { path: "deep/er/file", text: "y" },
      { path: "short", text: "z", pax: { path: `long/${"n".repeat(150)}`, mtime: "12.5" } },
    );
    const file = lstatSync(`${tree}/etc/file`);
    expect([file.mode & 0o7777, file.uid, file.gid, file.mtimeMs, file.nlink]).toEqual([0o4755, 1000, 1001, 1_234_567_000, 2]);
    expect(lstatSync(`${tree}/etc/hard`).ino).toBe(file.ino);
    const etc = lstatSync(`${tree}/etc`);
    expect([etc.mode & 0o7777, etc.uid, etc.gid, etc.mtimeMs]).toEqual([0o750, 3, 4, 1_000_000_000]);
    expect([readlinkSync(`${tree}/etc/soft`), lstatSync(`${tree}/etc/soft`).uid, lstatSync(`${tree}/etc/soft`).mtimeMs]).toEqual([
      "/etc/file",
      7,
      99_000,
    ]);
    expect([lstatSync(`${tree}/pipe`).isFIFO(), lstatSync(`${tree}/pipe`).mode & 0o777]).toEqual([true, 0o622]);
    expect(Buffer.from(getxattr(`${tree}/ping`, "security.capability") ?? [])).toEqual(NET_RAW);
    expect(Buffer.from(getxattr(`${tree}/ping`, "user.note") ?? []).toString()).toBe("yes");
    expect([lstatSync(`${tree}/deep/er`).mode & 0o777, readFileSync(`${tree}/deep/er/file`, "utf8")]).toEqual([0o755, "y"]);
    expect(lstatSync(`${tree}/long/${"n".repeat(150)}`).mtimeMs).toBe(12_000);
  });

  test("has no device nodes, which are reported, and its tar still has them", async () => {
    const told: object[] = [];
    const nodes = ["console", "null", "sda", "zero"].map(
      (name, i) => ({ path: `dev/${name}`, type: i === 2 ? "blockdev" : "chardev" }) as const,
    );
    const tar = fresh({ path: "dev", type: "directory" }, ...nodes, { path: "dev/readme", text: "x" });
    const { digest } = await importTar(tar, { onLeftOut: (leftOut: object) => told.push(leftOut) });
    expect(readdirSync(`${treeOf(digest)}/dev`)).toEqual(["readme"]);
    expect(told).toMatchObject([{ count: 4, examples: ['"dev/console"', '"dev/null"', '"dev/sda"'] }]);
    expect(await exported(digest)).toEqual(tar);
  });

  test("has overlay's marks for files that are removed from the layers below", async () => {
    const tree = await importTree(
      { path: "gone/.wh.file" },
      { path: "kept", text: "of this layer" },
      { path: ".wh.kept" },
      { path: "again/x", text: "x" },
      { path: ".wh.again" },
      { path: ".wh.later" },
      { path: "later/file", text: "y" },
      { path: "opaque/.wh..wh..opq" },
      { path: "opaque/new", text: "z" },
      { path: ".wh..wh.plnk/1", text: "of an older format" },
    );
    const whiteout = lstatSync(`${tree}/gone/file`);
    expect([whiteout.isCharacterDevice(), whiteout.rdev]).toEqual([true, 0]);
    expect(readFileSync(`${tree}/kept`, "utf8")).toBe("of this layer");
    for (const directory of ["again", "later", "opaque"]) {
      expect(Buffer.from(getxattr(`${tree}/${directory}`, "trusted.overlay.opaque") ?? []).toString()).toBe("y");
    }
    expect(readdirSync(tree).sort()).toEqual(["again", "gone", "kept", "later", "opaque", "unique"]);
  });

  test("has the later of two entries, and its tar still has both", async () => {
    const tar = fresh(
      { path: "a", text: "first" },
      { path: "b", type: "hardlink", linkTo: "a" },
      { path: "a", text: "second, longer" },
      { path: "a", type: "symlink", linkTo: "b" },
      { path: "lib", type: "symlink", linkTo: "usr/lib" },
      { path: "usr/lib", type: "directory" },
      { path: "lib/so", text: "through a link" },
      { path: "lib", type: "directory" },
      { path: "a", text: "third" },
    );
    const { digest } = await importTar(tar);
    const tree = treeOf(digest);
    expect([readFileSync(`${tree}/a`, "utf8"), readFileSync(`${tree}/b`, "utf8")]).toEqual(["third", "first"]);
    expect([readFileSync(`${tree}/usr/lib/so`, "utf8"), lstatSync(`${tree}/lib`).isDirectory()]).toEqual(["through a link", true]);
    expect(await exported(digest)).toEqual(tar);
  });

  test("has names that are not UTF-8", async () => {
    const tree = join(dataDir, "odd");
    mkdirSync(tree);
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe, 0x41])]), "odd");
    writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.alloc(200, 0xe9)]), "long");
    await runCommand(["tar", "-C", tree, "--format=pax", "-cf", `${dataDir}/odd.tar`, "."]);
    const tar = new Uint8Array(readFileSync(`${dataDir}/odd.tar`));
    const { digest } = await importTar(tar);
    const names = readdirSync(treeOf(digest), { encoding: "buffer" })
      .map((name) => name.toString("hex"))
      .sort();
    expect(names).toEqual(["e9".repeat(200), "fffe41"]);
    expect(await exported(digest)).toEqual(tar);
  });
});

describe("a hostile tar", () => {
  const outside = join(dataDir, "outside");
  const link = (path: string, linkTo: string): TarEntry => ({ path, type: "symlink", linkTo });
  const cases: readonly (readonly [string, readonly TarEntry[]])[] = [
    ["walks up", [{ path: "../../outside/x", text: "x" }]],
    ["walks up inside a name", [{ path: "a/../../../outside/x", text: "x" }]],
    ["links to a file outside", [{ path: "hard", type: "hardlink", linkTo: "../../../etc/passwd" }]],
    ["links to a missing file", [{ path: "hard", type: "hardlink", linkTo: "etc/passwd" }]],
    [
      "links to a directory",
      [
        { path: "d", type: "directory" },
        { path: "hard", type: "hardlink", linkTo: "d" },
      ],
    ],
    [
      "uses a file as a directory",
      [
        { path: "f", text: "x" },
        { path: "f/x", text: "x" },
      ],
    ],
    [
      "replaces a directory that holds something",
      [
        { path: "d/x", text: "x" },
        { path: "d", text: "x" },
      ],
    ],
    ["has a loop of links", [link("l", "m"), link("m", "l"), { path: "l/x", text: "x" }]],
    ["has a name that is too long", [{ path: "x", text: "x", pax: { path: "n".repeat(300) } }]],
    ["has a path that is too long", [{ path: "x", text: "x", pax: { path: "n/".repeat(4000) } }]],
    ["has a NUL in a name", [{ path: "x", text: "x", pax: { path: "a\0b" } }]],
    ["hides the root", [{ path: ".wh..wh..opq" }]],
    ["has a whiteout of nothing", [{ path: ".wh." }]],
    ["has a whiteout of its parent", [{ path: "a/.wh..." }]],
    ["has a sparse file", [{ path: "s", text: "x", pax: { "GNU.sparse.major": "1" } }]],
    ["has a size that is not a number", [{ path: "s", text: "x", pax: { size: "ten" } }]],
    ["has a size of exabytes", [{ path: "s", text: "x", pax: { size: "1152921504606846976" } }]],
    ["has an owner out of range", [{ path: "s", text: "x", pax: { uid: "4294967295" } }]],
    ["makes the root a file", [{ path: ".", text: "x" }]],
    ["has a name below a whiteout", [{ path: "a/.wh.b/c", text: "x" }]],
  ];

  test.each(cases)("that %s is refused, and leaves nothing", async (_, entries) => {
    mkdirSync(outside, { recursive: true });
    expect(await reasonOf(importTar(fresh(...entries)))).toBe("bad_layer");
    expect([readdirSync(outside), leftovers()]).toEqual([[], NONE]);
  });

  test("cannot write outside its tree through its own links", async () => {
    mkdirSync(outside, { recursive: true });
    const up = "../".repeat(8);
    const tree = await importTree(
      link("abs", outside),
      link("rel", `${up}${outside}`),
      link("etc", "/etc"),
      { path: `${outside}/here`, type: "directory" },
      { path: "abs/x", text: "1" },
      { path: "rel/y", text: "2" },
      { path: "/abs/z", type: "hardlink", linkTo: "/rel/y" },
      { path: "shadow-link", type: "symlink", linkTo: "/etc/shadow" },
      { path: "shadow-link", text: "not the real one" },
    );
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(join(tree, outside)).sort()).toEqual(["here", "x", "y", "z"]);
    expect(lstatSync(`${tree}/shadow-link`).isFile()).toBe(true);
  });

  test("cannot set overlay's attributes", async () => {
    const pax = {
      "SCHILY.xattr.trusted.overlay.redirect": "/etc",
      "SCHILY.xattr.trusted.overlay.opaque": "y",
      "SCHILY.xattr.security.selinux": "x",
    };
    const tree = await importTree({ path: "d", type: "directory", pax }, { path: "f", text: "x", pax });
    for (const path of [`${tree}/d`, `${tree}/f`]) {
      for (const name of ["trusted.overlay.redirect", "trusted.overlay.opaque"]) expect(getxattr(path, name)).toBeUndefined();
    }
  });

  test("has no larger access list than a sandbox may set", async () => {
    const list = (entries: number) => {
      const parts = [[1, 7, -1], ...Array.from({ length: entries - 4 }, (_, id) => [2, 7, id]), [4, 7, -1], [16, 7, -1], [32, 7, -1]];
      const bytes = Buffer.alloc(4 + 8 * entries);
      bytes.writeUInt32LE(2, 0);
      for (const [at, [tag = 0, mode = 0, id = 0]] of parts.entries()) {
        bytes.writeUInt16LE(tag, 4 + 8 * at);
        bytes.writeUInt16LE(mode, 6 + 8 * at);
        bytes.writeInt32LE(id, 8 + 8 * at);
      }
      return bytes;
    };
    const name = "system.posix_acl_access";
    const tree = await importTree({ path: "f", text: "x", pax: { [`SCHILY.xattr.${name}`]: list(13) } });
    expect(getxattr(`${tree}/f`, name)?.length).toBe(108);
    const larger = importTar(fresh({ path: "f", text: "x", pax: { [`SCHILY.xattr.${name}`]: list(14) } }));
    expect(await reasonOf(larger)).toBe("bad_layer");
    expect(leftovers()).toEqual(NONE);
  });

  test("is bounded in bytes and entries, packed or not", async () => {
    const zeros = Bun.gzipSync(Buffer.concat([makeTar([{ path: "z" }]).subarray(0, 512), Buffer.alloc(64 << 20)]));
    expect(await reasonOf(importTar(zeros, { maxBytes: 1 << 20 }))).toBe("layer_too_large");
    const many = fresh(...Array.from({ length: 200 }, (_, i) => ({ path: `f${i}` })));
    expect(await reasonOf(importTar(many, { maxEntries: 100 }))).toBe("layer_too_large");
    expect(leftovers()).toEqual(NONE);
  });

  test("with random damage is refused or harmless", async () => {
    mkdirSync(outside, { recursive: true });
    const whole = fresh(
      { path: "dir/", type: "directory" },
      { path: "dir/file", text: "x".repeat(2000), pax: { "SCHILY.xattr.user.a": "b", path: "dir/renamed" } },
      { path: "dir/link", type: "symlink", linkTo: "../../../outside" },
      { path: "dir/hard", type: "hardlink", linkTo: "dir/renamed" },
      { path: "dir/.wh.gone" },
    );
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const outcomes = new Set<string>();
    for (let round = 0; round < 40; round++) {
      const tar = whole.slice(0, round % 5 === 0 ? random(whole.length) : whole.length);
      for (let i = 0; i < 1 + random(4) && tar.length > 0; i++) tar[random(tar.length)] = random(256);
      const fixed = round % 2 === 0 ? withChecksums(tar) : tar;
      outcomes.add(await reasonOf(importTar(fixed, { maxBytes: 1 << 20 })));
      expect(readdirSync(outside)).toEqual([]);
    }
    expect([...outcomes].filter((reason) => !["resolved", "bad_layer", "layer_too_large"].includes(reason))).toEqual([]);
    expect(leftovers()).toEqual(NONE);
  }, 60_000);
});

/** Sets the right checksum in every block that looks like a header, so that the checksum does not reveal the damage. */
function withChecksums(tar: Uint8Array): Uint8Array {
  for (let at = 0; at + 512 <= tar.length; at += 512) {
    const block = tar.subarray(at, at + 512);
    if (Buffer.from(block.subarray(257, 262)).toString() !== "ustar") continue;
    block.fill(32, 148, 156);
    const sum = block.reduce((a, b) => a + b, 0);
    block.set(Buffer.from(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  }
  return tar;
}

describe("a sandbox's volume", () => {
  const BASE = 0x1000_0000;

  /** A volume as overlay leaves it. */
  async function volume(script: string): Promise<string> {
    const parent = `${paths.root}/sandboxes`;
    const name = `v${crypto.randomUUID()}`;
    createSubvolume(parent, name);
    const path = `${parent}/${name}`;
    mkdirSync(`${path}/upper`);
    mkdirSync(`${path}/work/work`, { recursive: true });
    await runCommand(["sh", "-ec", `cd "$0/upper"; ${script}; chown -hR ${BASE}:${BASE} "$0/upper"`, path]);
    return path;
  }
  const commit = (path: string, leaveOut: readonly string[] = []) =>
    store.commit((work) => work({ volume: path, uidBase: BASE, leaveOut }), { signal });

  test("becomes a layer with plain owners, links, capabilities and marks", async () => {
    const path = await volume(
      "mkdir -p opt/app upper work gone; echo hi > opt/app/file; ln opt/app/file opt/app/hard; ln -s /nowhere opt/link; mkfifo pipe; mknod gone/away c 0 0; touch ping; chmod 4755 ping",
    );
    const upper = `${path}/upper`;
    await runCommand(["chown", `${BASE + 1000}:${BASE + 1001}`, `${upper}/opt/app/file`]);
    await runCommand(["chown", "0:0", `${upper}/gone/away`]);
    await runCommand(["chmod", "4755", `${upper}/ping`]);
    const v3 = Buffer.alloc(24);
    NET_RAW.copy(v3);
    v3[3] = 3;
    v3.writeUInt32LE(BASE, 20);
    setxattr(`${upper}/ping`, "security.capability", v3);
    setxattr(`${upper}/opt`, "trusted.overlay.opaque", Buffer.from("y"));
    setxattr(`${upper}/opt`, "trusted.overlay.origin", Buffer.from("junk"));
    setxattr(`${upper}/opt/app/file`, "user.note", Buffer.from("kept"));
    const layer = await commit(path);
    const tree = treeOf(layer.digest);
    expect(readdirSync(tree).sort()).toEqual(["gone", "opt", "ping", "pipe", "upper", "work"]);
    const file = lstatSync(`${tree}/opt/app/file`);
    expect([file.uid, file.gid, file.nlink, lstatSync(`${tree}/opt/app/hard`).ino]).toEqual([1000, 1001, 2, file.ino]);
    expect([lstatSync(tree).uid, lstatSync(`${tree}/opt/link`).uid, lstatSync(`${tree}/pipe`).uid]).toEqual([0, 0, 0]);
    expect(lstatSync(`${tree}/ping`).mode & 0o7777).toBe(0o4755);
    expect(Buffer.from(getxattr(`${tree}/ping`, "security.capability") ?? [])).toEqual(NET_RAW);
    expect(getxattr(`${tree}/opt`, "trusted.overlay.origin")).toBeUndefined();
    const tar = await exported(layer.digest);
    expect(digestOf(tar)).toBe(layer.digest);
    writeFileSync(`${dataDir}/out.tar`, tar);
    const listing = await runCommand(["tar", "-tvf", `${dataDir}/out.tar`, "--numeric-owner"]);
    for (const part of ["1000/1001", "gone/.wh.away", "opt/.wh..wh..opq", "opt/app/hard link to opt/app/file", "opt/link -> /nowhere"]) {
      expect(listing).toContain(part);
    }
    // The same bytes make the same tree again.
    store.remove(layer.digest);
    const again = await importTar(tar);
    expect(again.digest).toBe(layer.digest);
    expect(lstatSync(`${treeOf(again.digest)}/gone/away`).isCharacterDevice()).toBe(true);
    expect(Buffer.from(getxattr(`${treeOf(again.digest)}/ping`, "security.capability") ?? [])).toEqual(NET_RAW);
  });

  test("leaves out the given paths, and follows no links in them", async () => {
    const path = await volume(
      "mkdir -p secret/deep kept etc; echo s > secret/deep/key; echo k > kept/file; echo h > etc/hosts; ln -s kept link",
    );
    const { digest } = await commit(path, ["/secret/deep/key", "etc/hosts", "/link/file", "/none/there"]);
    const tree = treeOf(digest);
    expect(readdirSync(tree).sort()).toEqual(["kept", "link"]);
    expect(readFileSync(`${tree}/kept/file`, "utf8")).toBe("k\n");
  });

  test("is refused when it claims more than allowed, without reading it", async () => {
    const path = await volume("truncate -s 7E huge");
    // Bytes that this process has read: the kernel counts the zeros of a hole too.
    const bytesRead = () => Number(/^rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
    const before = bytesRead();
    expect(await reasonOf(commit(path))).toBe("layer_too_large");
    expect(bytesRead() - before).toBeLessThan(64 << 20);
    expect(await reasonOf(commit(await volume("touch .wh.trap")))).toBe("reserved_name");
    expect(leftovers()).toEqual(NONE);
  });
});

describe("merging", () => {
  test("gives the tree that overlay shows", async () => {
    const below = await importTar(
      fresh(
        { path: "d/old", text: "old" },
        { path: "d/both", text: "below" },
        { path: "hidden/x", text: "x" },
        { path: "file", text: "f" },
        { path: "gone", text: "g" },
      ),
    );
    const above = await importTar(
      makeTar([
        { path: "d/both", text: "above", uid: 12, mode: 0o4755 },
        { path: "d/link", type: "hardlink", linkTo: "d/both" },
        { path: "hidden/.wh..wh..opq" },
        { path: "hidden/y", text: "y" },
        { path: "file", type: "directory" },
        { path: ".wh.gone" },
      ]),
    );
    const digests = [below.digest, above.digest];
    const merged = await store.merge(digests, { signal });
    const seen = join(dataDir, "seen");
    mkdirSync(seen);
    const lower = digests.map(treeOf).reverse().join(":");
    await runCommand(["mount", "-t", "overlay", "overlay", "-o", `ro,lowerdir=${lower}`, seen]);
    try {
      const list = (directory: string) =>
        runCommand(["sh", "-c", 'cd "$0" && find . -not -type c -printf "%p %y %m %U %n %s\\n" | sort', directory]);
      const files = (text: string) => text.split("\n").filter((line) => !/ d /.test(line));
      expect(files(await list(treeOf(merged.digest)))).toEqual(files(await list(seen)));
    } finally {
      await runCommand(["umount", seen]);
    }
    const tree = treeOf(merged.digest);
    expect(lstatSync(`${tree}/gone`).isCharacterDevice()).toBe(true);
    for (const directory of ["hidden", "file"]) expect(getxattr(`${tree}/${directory}`, "trusted.overlay.opaque")).toBeDefined();
  });
});

describe("after a process was killed", () => {
  test("an interrupted removal is finished", async () => {
    const first = await importTar(fresh());
    const second = await importTar(fresh());
    // As `unpublish` leaves them: the first before, the second after it moved the facts.
    renameSync(treeOf(first.digest), `${paths.layers}/gone-${first.digest.slice(7)}-x`);
    renameSync(treeOf(second.digest), `${paths.layers}/gone-${second.digest.slice(7)}-x`);
    renameSync(`${paths.facts}/${second.digest.slice(7)}`, `${paths.making}/gone-${second.digest.slice(7)}-x`);
    expect([store.has(first.digest), store.has(second.digest)]).toEqual([false, false]);
    await sweepMaking(dataDir);
    expect(leftovers()).toEqual(NONE);
    expect(readdirSync(paths.facts)).not.toContain(first.digest.slice(7));
  });

  test("a sweep removes its unfinished layer, and nothing that is in use", async () => {
    const kept = await importTar(fresh());
    const script = join(import.meta.dir, "../testing/import-and-die.ts");
    const child = Bun.spawn([process.execPath, script, dataDir], { stdout: "pipe", stderr: "inherit" });
    await child.stdout.getReader().read();
    child.kill("SIGKILL");
    await child.exited;
    const [dead, ...others] = leftovers().making;
    expect([typeof dead, others]).toEqual(["string", []]);
    let sendRest = () => {};
    const bytes = fresh();
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(bytes.subarray(0, 512));
        sendRest = () => {
          controller.enqueue(bytes.subarray(512));
          controller.close();
        };
      },
    });
    const held = store.import(source, { signal });
    await eventually("both are there", () => leftovers().making.length === 2, { withinMs: 30_000 });
    const inUse = leftovers().making.filter((name) => name !== dead);
    await sweepMaking(dataDir);
    expect(leftovers().making).toEqual(inUse);
    sendRest();
    expect(store.has((await held).digest)).toBe(true);
    expect(leftovers()).toEqual(NONE);
    expect(store.has(kept.digest)).toBe(true);
  }, 20_000);
});
