import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { runCommand } from "../sys/run.ts";
import type { SetupConfig } from "./types.ts";

/** Set-up in an empty directory with an empty cache, while the compiler of the guest bundle waits for the test. */
let work: string;
let go: number;
let child: Bun.Subprocess<"ignore", "ignore", "pipe">;

beforeEach(async () => {
  work = mkdtempSync(join(tmpdir(), "boxyard-ahead-"));
  mkdirSync(join(work, "bin"));
  writeFileSync(join(work, "bin/musl-gcc"), `#!/bin/sh\nread line <${work}/go; echo no compiler today >&2; exit 1\n`, { mode: 0o755 });
  await runCommand(["mkfifo", join(work, "go")]);
  go = openSync(join(work, "go"), "r+");
  const dataDir = join(work, "data");
  const config: SetupConfig = { dataDir, cacheDir: join(work, "cache"), network: "198.19.0.0/16", env: process.env };
  child = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/run-setup.ts"), JSON.stringify(config)], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, PATH: `${work}/bin:${process.env.PATH}` },
  });
  await eventually("the tree of the base template is being built", () => programs().some((line) => line.includes("mmdebstrap")), {
    withinMs: 120_000,
  });
});

afterEach(async () => {
  child.kill("SIGKILL");
  await child.exited;
  // A compiler may begin after the end of its set-up, and would wait at the pipe.
  const hasEnded = () => {
    writeSync(go, "\n");
    return programs(work).length === 0;
  };
  await eventually("nothing runs in the directory", hasEnded, { withinMs: 60_000 });
  closeSync(go);
  rmSync(work, { recursive: true, force: true });
}, 90_000);

/** Command lines of the programs that work in the directory; by default, in the one in which the template is built. */
const programs = (directory = `${work}/cache/build-`): string[] =>
  readdirSync("/proc").flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return /^\d+$/.test(pid) && line.includes(directory) ? [line] : [];
    } catch {
      return [];
    }
  });

test("when a stage fails, the build beside it ends with its programs and files, and the error names the stage", async () => {
  writeSync(go, "\n");
  const said = await new Response(child.stderr).text();
  expect(await child.exited).not.toBe(0);
  expect(said).toContain("setup of guest bundle: ");
  expect(said).toContain("no compiler today");
  await eventually("its programs have ended", () => programs().length === 0, { withinMs: 60_000 });
  expect(readdirSync(join(work, "cache"))).toEqual(["base.lock"]);
}, 240_000);

test("a set-up that is killed takes the build beside its stages with it", async () => {
  child.kill("SIGKILL");
  await child.exited;
  await eventually("its programs have ended", () => programs().length === 0, { withinMs: 60_000 });
}, 240_000);
