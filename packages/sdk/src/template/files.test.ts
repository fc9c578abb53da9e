import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entriesOf, hashOf } from "./files.ts";
import { ignoreRules, matcher } from "./patterns.ts";
import { writeTarGz } from "./tar.ts";

const context = mkdtempSync(join(tmpdir(), "boxyard-context-"));
const LONG = `${"d".repeat(90)}/${"ü".repeat(60)}`;
afterAll(() => rmSync(context, { recursive: true, force: true }));
beforeAll(() => {
  const write = (path: string, text: string) => {
    mkdirSync(join(context, path, ".."), { recursive: true });
    writeFileSync(join(context, path), text);
  };
  write("app/main.py", "print(1)\n");
  write("app/.hidden", "h");
  write("app/sub/a.txt", "");
  write("app/sub/b.log", "log");
  write("other.txt", "o");
  write(`app/${LONG}`, "x".repeat(513));
  write("node_modules/x/index.js", "x");
  write("node_modules/keep/index.js", "x");
  write(".dockerignore", "# comment\nnode_modules\n!node_modules/keep\n**/*.log\n");
  chmodSync(join(context, "app/main.py"), 0o755);
  symlinkSync("main.py", join(context, "app/link"));
});

const paths = (source: string) => entriesOf({ context, source }).map(({ path }) => path);

test("a COPY takes a directory with all that is in it, but what .dockerignore leaves out", () => {
  const long = [`app/${LONG.split("/")[0]}`, `app/${LONG}`];
  expect(paths("app")).toEqual(["app", "app/.hidden", ...long, "app/link", "app/main.py", "app/sub", "app/sub/a.txt"]);
  expect(paths("./app/sub/")).toEqual(["app/sub", "app/sub/a.txt"]);
  expect(paths(".").filter((path) => path.startsWith("node_modules"))).toEqual(["node_modules/keep", "node_modules/keep/index.js"]);
  expect(paths("*.txt")).toEqual(["other.txt"]);
  expect(paths("**/*.txt")).toEqual(["app/sub/a.txt", "other.txt"]);
  for (const source of ["/etc/passwd", "../x", "a/../../x"]) expect(() => paths(source)).toThrow("copy takes paths below");
  for (const source of ["nothing", "*.log", "app/sub/b.log"]) expect(() => paths(source)).toThrow("copy: nothing in");
});

test("the hash follows content, mode and names, and nothing else", async () => {
  const hash = () => hashOf(entriesOf({ context, source: "app" }), "app", "/x");
  const first = await hash();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  expect(await hash()).toBe(first);
  chmodSync(join(context, "app/main.py"), 0o700);
  const other = await hash();
  chmodSync(join(context, "app/main.py"), 0o755);
  expect([other === first, await hash()]).toEqual([false, first]);
});

test("tar reads the archive: names of any length, modes, links", async () => {
  const out = join(context, "out");
  mkdirSync(out);
  try {
    await writeTarGz(entriesOf({ context, source: "app" }), join(out, "a.tar.gz"));
    const tar = Bun.spawnSync(["tar", "-xzf", "a.tar.gz"], { cwd: out });
    expect([tar.exitCode, tar.stderr.toString()]).toEqual([0, ""]);
    expect(readFileSync(join(out, "app", LONG), "utf8")).toBe("x".repeat(513));
    expect(statSync(join(out, "app/main.py")).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(out, "app/link"))).toBe("main.py");
  } finally {
    rmSync(out, { recursive: true });
  }
});

test("patterns", () => {
  const matches = (pattern: string, path: string) => matcher(pattern)(path);
  expect(["a.txt", "b/a.txt"].map((path) => matches("*.txt", path))).toEqual([true, false]);
  expect(["a", "x/a", "x/y/a", "xa"].map((path) => matches("**/a", path))).toEqual([true, true, true, false]);
  expect(["a1", "ab", "a+"].map((path) => matches("a[!0-9]", path))).toEqual([false, true, true]);
  expect(matches("a(b|c)+", "a(b|c)+")).toBe(true);
  const { ignores } = ignoreRules("/build/\n*.tmp\n!keep.tmp\n");
  expect(["build", "build/x", "a.tmp", "keep.tmp", "d/a.tmp"].map(ignores)).toEqual([true, true, true, false, false]);
});
