import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { tryLockFile } from "@boxyard/core/file-lock";
import { eventually } from "@boxyard/testkit";
import { lockFile } from "../sys/file-lock.ts";
import { runCommand } from "../sys/run.ts";
import { OTHER_FAILED } from "./ahead.ts";
import { hashSources } from "./checkout.ts";
import { readSetupConfig } from "./config.ts";
import { readVersioned, writeWhole } from "./files.ts";
import { lineReporter } from "./reporter.ts";
import { parseSize } from "./size.ts";
import { setupStages } from "./stages/index.ts";
import { NEEDED } from "./stages/package-list.ts";
import { listByPurpose } from "./stages/packages.ts";
import { readDone, writeDone } from "./stamp.ts";
import type { Stage } from "./types.ts";

function inTemporaryDirectory<T>(work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-setup-"));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Collects written text; `take` returns what was written since the last `take`. */
function recorder() {
  const written: string[] = [];
  return { write: (text: string) => void written.push(text), take: () => written.splice(0).join("") };
}

const stage: Stage = { name: "x", title: "the thing", key: () => "1", isDone: () => true, run: async () => {} };

test("sizes are parsed with their units, and other text is refused", () => {
  expect(["20G", "512MiB", "1.5k", "4096", "1 T"].map((text) => parseSize("S", text))).toEqual([
    20 * 1024 ** 3,
    512 * 1024 ** 2,
    1536,
    4096,
    1024 ** 4,
  ]);
  for (const bad of ["", "G", "-1", "1X", "ten"]) expect(() => parseSize("BOXYARD_POOL_SIZE", bad)).toThrow("BOXYARD_POOL_SIZE");
});

test("settings: the cache is in the data directory by default, and a bad network is refused", () => {
  expect(readSetupConfig({ BOXYARD_DATA: "/d" })).toMatchObject({ dataDir: "/d", cacheDir: "/d/cache" });
  const all = readSetupConfig({ BOXYARD_DATA: "/d", BOXYARD_CACHE: "/c", BOXYARD_NETWORK: "10.9.0.0/16", BOXYARD_POOL_SIZE: "8G" });
  expect(all).toMatchObject({ cacheDir: "/c", network: "10.9.0.0/16", poolSizeBytes: 8 * 1024 ** 3 });
  expect(() => readSetupConfig({ BOXYARD_NETWORK: "10.9.0.1/16" })).toThrow("not an IPv4 network");
  expect(readSetupConfig({}).networkShares).toEqual({ bandwidth: 256 << 20, packets: 100_000, connections: 4096, questions: 200 });
  const shares = {
    BOXYARD_NETWORK_BANDWIDTH: "0",
    BOXYARD_NETWORK_PACKETS: "0",
    BOXYARD_NETWORK_CONNECTIONS: "64",
    BOXYARD_NETWORK_QUESTIONS: "5",
  };
  expect(readSetupConfig({ BOXYARD_RESOLV_CONF: "/d/resolv.conf" }).resolvConf).toBe("/d/resolv.conf");
  expect(readSetupConfig(shares).networkShares).toEqual({ bandwidth: 0, packets: 0, connections: 64, questions: 5 });
  for (const [name, value] of [
    ["BANDWIDTH", "10K"],
    ["BANDWIDTH", "17G"],
    ["PACKETS", "99"],
    ["CONNECTIONS", "0"],
    ["QUESTIONS", "many"],
  ])
    expect(() => readSetupConfig({ [`BOXYARD_NETWORK_${name}`]: value })).toThrow(`BOXYARD_NETWORK_${name}`);
});

test("the stages are in their order", () => {
  expect(setupStages.map(({ name }) => name)).toEqual([
    "packages",
    "kernel",
    "instance",
    "guest",
    "fork-server",
    "pool",
    "checkpoint",
    "base",
  ]);
});

test("the list for machines without apt says what each package is for", () => {
  const list = listByPurpose(NEEDED);
  expect(list.split("\n")).toHaveLength(NEEDED.length);
  expect(list).toContain("crun (crun on Debian): makes and starts the sandboxes");
});

test("the stamp keeps the stages that are done, and with a damaged stamp none is done", () =>
  inTemporaryDirectory((dataDir) => {
    const config = { dataDir, cacheDir: dataDir, env: {} };
    expect(readDone(config)).toEqual({});
    writeDone(config, "a", "1");
    writeDone(config, "b", "2");
    writeDone(config, "a", "3");
    expect(readDone(config)).toEqual({ a: "3", b: "2" });
    writeFileSync(`${dataDir}/setup.json`, "{");
    expect(readDone(config)).toEqual({});
  }));

test("files are written with their mode, and other versions are not read", () =>
  inTemporaryDirectory((directory) => {
    const path = join(directory, "file.json");
    writeWhole(path, '{"version":2}', 0o600);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(["file.json"]);
    expect(readVersioned<{ version: 2 }>(path, 2)).toEqual({ version: 2 });
    expect(readVersioned<{ version: 1 }>(path, 1)).toBeUndefined();
    expect(readVersioned<{ version: 1 }>(join(directory, "none"), 1)).toBeUndefined();
  }));

test("a hash of sources depends on names, contents and `more`, and not on tests", () =>
  inTemporaryDirectory((root) => {
    mkdirSync(join(root, "src/fixtures"), { recursive: true });
    writeFileSync(join(root, "src/a.ts"), "one");
    const hash = (...more: string[]) => hashSources(["src"], more, root);
    const first = hash();
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    writeFileSync(join(root, "src/a.test.ts"), "");
    writeFileSync(join(root, "src/fixtures/f.ts"), "");
    expect(hash()).toBe(first);
    expect(hash("x")).not.toBe(first);
    writeFileSync(join(root, "src/a.ts"), "two");
    const changed = hash();
    expect(changed).not.toBe(first);
    renameSync(join(root, "src/a.ts"), join(root, "src/b.ts"));
    expect([first, changed]).not.toContain(hash());
  }));

test("without a terminal each stage has one plain line", () => {
  const { write, take } = recorder();
  let at = 0;
  const reporter = lineReporter({ write, terminal: false, now: () => at });
  const report = reporter.begin(stage);
  report.progress("half way");
  report.result("3 MB");
  at = 1234;
  reporter.end(stage);
  reporter.begin(stage);
  at += 50;
  reporter.end(stage, new Error("x"));
  expect(take()).toBe("setup: the thing (3 MB): 1.2 s\nsetup: the thing: failed after 0.1 s\n");
});

test("a terminal shows progress in one line that is cleared, without control characters of other programs", () => {
  const { write, take } = recorder();
  let at = 0;
  const reporter = lineReporter({ write, terminal: true, columns: 30, now: () => at });
  reporter.begin(stage).progress("skipped, too soon");
  at = 1000;
  reporter.end(stage);
  reporter.begin(stage);
  expect(take()).toBe("\r\x1b[Ksetup: the thing ...\r\x1b[Ksetup: the thing: 1.0 s\n\r\x1b[Ksetup: the thing ...");
  const other = lineReporter({ write, terminal: true, columns: 20 });
  other.begin({ ...stage, title: "a\x1b[31m\nb".padEnd(40, "x") });
  expect(take()).toBe("\r\x1b[Ksetup: a [31m bxxxx");
});

test("of two stages at once a terminal shows both, and each has its own line in the end", () => {
  const { write, take } = recorder();
  let at = 0;
  const reporter = lineReporter({ write, terminal: true, now: () => at });
  const other = { ...stage, title: "the other" };
  const report = reporter.begin(stage);
  report.result("3 MB");
  take();
  reporter.begin(other).result("1 kB");
  expect(take()).toBe("\r\x1b[Ksetup: the other ...; the thing ...");
  at = 100;
  reporter.end(other);
  expect(take()).toBe("\r\x1b[Ksetup: the other (1 kB): 0.1 s\n");
  at = 200;
  reporter.end(stage, new AppError("aborted", "x", { reason: OTHER_FAILED }));
  expect(take()).toBe("\r\x1b[Ksetup: the thing (3 MB): stopped after 0.2 s\n");
});

test("a lock has one holder, also within this process, and is free after its release", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-lock-"));
  try {
    const path = join(directory, "lock");
    const first = await lockFile(path);
    expect(tryLockFile(path)).toBeUndefined();
    let waited = 0;
    const second = lockFile(path, () => waited++);
    await eventually("the second waits", () => waited > 0);
    first.release();
    first.release();
    (await second).release();
    expect(waited).toBe(1);
    expect(existsSync(path)).toBe(true);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the error of a failed command has its status, the fix and the end of its output; a missing command fails too", async () => {
  const lines: string[] = [];
  const output = await runCommand(["sh", "-c", "printf 'a\\nb'; echo c >&2"], { onLine: (line) => lines.push(line) });
  expect([output.length, lines.sort()]).toEqual([5, ["a", "b", "c"]]);
  const error = (await runCommand(["sh", "-c", "seq 100; exit 3"], { fix: "Do this." }).catch((e: unknown) => e)) as AppError;
  expect(error.reason).toBe("command_failed");
  expect(error.message).toContain("status 3. Do this.\n");
  expect(error.message).toContain("100");
  expect(error.message).not.toContain("84\n");
  await expect(runCommand(["boxyard-no-such-program"])).rejects.toThrow("cannot start");
});

test("the files of images/base contain no address of a package registry", () => {
  const directory = join(import.meta.dir, "../../../../images/base");
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) expect(readFileSync(join(entry.parentPath, entry.name), "utf8")).not.toMatch(/https?:\/\//);
  }
});
