import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  CHECKOUT,
  compareSnapshots,
  type ProgramResult,
  readTestConfig,
  runProgram,
  settledDifferences,
  takeSnapshot,
} from "@boxyard/testkit";
import { withoutPrograms } from "../support/hidden-programs.ts";

/* What the command says on machines that lack something. */

const config = readTestConfig();
const BOXYARD = join(CHECKOUT, "boxyard");

function boxyard(
  args: readonly string[],
  { hidden = [], ...more }: { hidden?: readonly string[]; [name: string]: unknown } = {},
): Promise<ProgramResult> {
  const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, ...more } as Record<string, string>;
  return runProgram(withoutPrograms(hidden, [BOXYARD, ...args]), { env });
}

test("without apt, set-up lists what to install and what for, and changes nothing", async () => {
  const directory = mkdtempSync("/var/tmp/boxyard-no-apt-");
  const before = takeSnapshot();
  try {
    for (const args of [["setup"], ["run", "--", "true"]]) {
      const ended = await boxyard(args, { hidden: ["apt-get", "crun", "nft"], BOXYARD_DATA: directory });
      expect(ended.exitCode).not.toBe(0);
      expect(ended.stderr).toContain("this machine has no apt; install these by its own means:\n  crun (crun on Debian): makes and starts");
      const listed = ended.stderr.split("\n").filter((line) => line.includes(" on Debian): "));
      expect(listed.map((line) => line.trim().split(" ")[0])).toEqual(["crun", "nft"]);
      expect(ended.stderr).not.toMatch(/\n\s+at /);
    }
    // Its locks and its log: no key, no pool, no instance.
    expect(readdirSync(directory).filter((name) => !/^(setup|start)\.lock$|^server\.log$/.test(name))).toEqual([]);
    expect(await settledDifferences(config.dataDir, before)).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("uninstall undoes what set-up and use did, once it is confirmed", async () => {
  const directory = mkdtempSync(`${config.dataDir}-uninstall-`);
  const own = { BOXYARD_DATA: directory, BOXYARD_LISTEN: "127.0.0.1:0" };
  const before = takeSnapshot();
  try {
    expect((await boxyard(["run", "--", "echo", "used"], own)).stdout).toBe("used\n");
    const { instance } = JSON.parse(readFileSync(join(directory, "instance.json"), "utf8")) as { instance: string };
    const unconfirmed = await boxyard(["uninstall"], own);
    expect([unconfirmed.exitCode, unconfirmed.stderr]).toEqual([1, expect.stringContaining("boxyard uninstall --yes")]);
    expect((await boxyard(["run", "--", "echo", "still"], own)).stdout).toBe("still\n");
    // As an earlier version set it up: what that did not make is made when it is needed.
    rmSync(join(directory, "bin"), { recursive: true });
    expect((await boxyard(["down", "--sandboxes"], own)).exitCode).toBe(0);
    rmSync(join(directory, "bin"), { recursive: true });
    expect(await boxyard(["uninstall", "--yes"], own)).toMatchObject({
      exitCode: 0,
      stdout: "Boxyard has been removed from this machine.\n",
    });
    expect(existsSync(directory)).toBe(false);
    const left = compareSnapshots(before, takeSnapshot()).filter(({ what }) => what.includes(instance) || what.includes(directory));
    expect(left).toEqual([]);
    expect((await boxyard(["uninstall", "--yes"], own)).stdout).toContain("nothing to remove");
  } finally {
    await boxyard(["uninstall", "--yes"], own);
    rmSync(directory, { recursive: true, force: true });
  }
}, 120_000);

interface Looked {
  readonly name: string;
  readonly status: string;
  readonly found: string;
  readonly fix?: string;
}

async function doctor(more: Parameters<typeof boxyard>[1] = {}): Promise<{ exitCode: number; of: (name: string) => Looked | undefined }> {
  const { exitCode, stdout } = await boxyard(["doctor", "--json"], more);
  const { checks } = JSON.parse(stdout) as { checks: Looked[] };
  return { exitCode, of: (name) => checks.find((check) => check.name === name) };
}

test("doctor says which runtime it picked, and why", async () => {
  const free = await doctor();
  expect(free.of("runtime")).toMatchObject({ status: "ok", found: expect.stringMatching(/^crun version \S+ at \/\S+crun, .*quicker/) });
  const wanted = await doctor({ BOXYARD_RUNTIME: "runc" });
  expect(wanted.of("runtime")).toMatchObject({
    status: "ok",
    found: expect.stringMatching(/^runc version \S+ at \S+, by BOXYARD_RUNTIME$/),
  });
  const second = await doctor({ hidden: ["crun"] });
  expect(second.of("runtime")).toMatchObject({
    status: "warn",
    found: expect.stringMatching(/^runc version \S+ at \S+, because crun is not installed$/),
    fix: expect.stringContaining("crun"),
  });
  expect(second.exitCode).toBe(0);
  const none = await doctor({ hidden: ["crun", "runc"] });
  expect(none.of("runtime")).toMatchObject({ status: "fail", found: "crun is not installed; runc is not installed" });
  expect(none.exitCode).toBe(1);
}, 60_000);

test("doctor says which cgroups it uses, and why", async () => {
  const found = (await doctor()).of("cgroups")?.found ?? "";
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  const v1 = ["memory", "cpu", "pids"].filter((name) => new RegExp(` - cgroup \\S+ (\\S+,)?${name}(,|$)`, "m").test(mounts));
  if (v1.length === 0) expect(found).toMatch(/^v2 at \S+, for everything: it holds every controller/);
  else {
    expect(found).toMatch(/^hybrid: v2 at \S+ to freeze, kill and count; .* in v1, because this machine holds these controllers there$/);
    for (const name of v1) expect(found).toContain(name);
  }
});
