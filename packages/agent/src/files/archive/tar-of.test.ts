import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tarOf } from "./tar-of.ts";

let work = "";
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "boxyard-tar-"));
});
afterEach(() => rmSync(work, { recursive: true }));

/** The archive of a directory of the test, unpacked by `tar` itself; what is in it, and what `run` says there. */
async function unpacked(directory: string, run: string, between: (chunk: number) => void = () => {}): Promise<string> {
  const out = join(work, "out");
  mkdirSync(out);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of tarOf(directory, "top")) {
    between(chunks.length);
    chunks.push(chunk);
  }
  const tar = Bun.spawn(["tar", "-xf", "-", "-C", out], { stdin: new Blob(chunks), stderr: "pipe" });
  expect([await tar.exited, await new Response(tar.stderr).text()]).toEqual([0, ""]);
  return (await new Response(Bun.spawn(["sh", "-c", run], { cwd: out }).stdout).text()).trim();
}

test("files, directories, links, modes, times and names of any kind come out as they are", async () => {
  const from = join(work, "in");
  const deep = join(from, ...Array.from({ length: 30 }, () => "a-long-name"));
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(from, "empty"));
  writeFileSync(join(deep, "grüße 'x'\n.txt"), "deep");
  writeFileSync(join(from, "large"), Buffer.alloc(700_001, "l"));
  writeFileSync(join(from, "none"), "");
  writeFileSync(join(from, "run.sh"), "#!/bin/sh\n");
  chmodSync(join(from, "run.sh"), 0o750);
  utimesSync(join(from, "run.sh"), 1_000_000_000, 1_000_000_000);
  symlinkSync("/etc/passwd", join(from, "link"));
  expect(Bun.spawnSync(["mkfifo", join(from, "fifo")]).exitCode).toBe(0);
  expect(
    await unpacked(from, `diff -r --no-dereference --exclude=fifo ../in top && stat -c '%a %Y' top/run.sh && readlink top/link; ls top`),
  ).toBe("750 1000000000\n/etc/passwd\na-long-name\nempty\nlarge\nlink\nnone\nrun.sh");
});

test("a file that becomes shorter, or a directory that goes away, while it is sent leaves a whole archive", async () => {
  const from = join(work, "in");
  mkdirSync(join(from, "z"), { recursive: true });
  writeFileSync(join(from, "a"), Buffer.alloc(3_000_000, "a"));
  writeFileSync(join(from, "z", "gone"), "gone");
  const result = await unpacked(from, "stat -c %s top/a; tail -c 1 top/a | od -An -c; ls top", (chunk) => {
    if (chunk !== 1) return;
    truncateSync(join(from, "a"), 1_000_000);
    rmSync(join(from, "z"), { recursive: true });
  });
  expect(result).toBe("3000000\n  \\0\na");
});

test("a directory that becomes a link while others are sent is not followed", async () => {
  const from = join(work, "in");
  for (const name of ["in/a", "in/z", "other"]) mkdirSync(join(work, name), { recursive: true });
  writeFileSync(join(from, "a", "large"), Buffer.alloc(3_000_000, "a"));
  writeFileSync(join(work, "other", "secret"), "secret");
  const result = await unpacked(from, "find top | sort", (chunk) => {
    if (chunk !== 1) return;
    rmSync(join(from, "z"), { recursive: true });
    symlinkSync("../other", join(from, "z"));
  });
  expect(result).toBe("top\ntop/a\ntop/a/large");
});

test("a directory that is a link is the directory that it leads to; links in it are not followed", async () => {
  mkdirSync(join(work, "in"));
  writeFileSync(join(work, "in", "f"), "f");
  symlinkSync("..", join(work, "in", "up"));
  symlinkSync("in", join(work, "link"));
  expect(await unpacked(join(work, "link"), "ls top && readlink top/up")).toBe("f\nup\n..");
});
