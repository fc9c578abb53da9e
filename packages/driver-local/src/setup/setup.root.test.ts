import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryLockFile } from "@boxyard/core/file-lock";
import { AGENT_ENVIRONMENT } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { LayerStore } from "../images/index.ts";
import { isPoolMounted, poolPaths, unmountPool } from "../pool-storage/index.ts";
import { AGENT_PORT } from "../steps/await-agent.ts";
import { lockFile } from "../sys/file-lock.ts";
import { runCommand } from "../sys/run.ts";
import { interpreterPatch } from "./guest/elf.ts";
import { guestDirectory, instanceName, isSetUp, pendingStages, runSetup, silentReporter, type TestDataDir } from "./index.ts";
import { makeTestDataDir } from "./test-data-directory.ts";
import type { Reporter, SetupConfig } from "./types.ts";

/** Building the base template takes a minute where the cache is empty. */
const BUILD_MS = 300_000;
let data: TestDataDir;

beforeAll(async () => {
  // Not a range that the other test files' platforms choose by themselves: the first of them that runs a server would take it away.
  data = await makeTestDataDir({ network: "198.19.0.0/16" });
}, BUILD_MS);

afterAll(async () => {
  await data?.remove();
}, 120_000);

/** Records the stages that were run. */
function recorder(): Reporter & { readonly ran: string[] } {
  const ran: string[] = [];
  const begin: Reporter["begin"] = (stage) => {
    ran.push(stage.name);
    return silentReporter.begin(stage);
  };
  return { ran, begin, end() {}, say() {} };
}

test("a finished set-up is recognised in a few ms, and no stage runs again", async () => {
  await runSetup(data.config, silentReporter);
  expect(await isSetUp(data.config)).toBe(true);
  // The quickest of several: a busy machine delays any of them.
  const isQuick = async () => {
    const startedAt = performance.now();
    expect(await isSetUp(data.config)).toBe(true);
    return performance.now() - startedAt < 50;
  };
  await eventually("an answer in a few ms", isQuick, { withinMs: 30_000 });
  const reporter = recorder();
  await runSetup(data.config, reporter);
  expect(reporter.ran).toEqual([]);
});

test("the data directory has its files, and only root can read secrets", () => {
  const { dataDir } = data;
  const instance = JSON.parse(readFileSync(`${dataDir}/instance.json`, "utf8"));
  expect(instance).toEqual({
    version: 1,
    instance: instanceName(dataDir),
    network: expect.stringMatching(/^\d+\.\d+\.0\.0\/16$/),
    poolSizeBytes: 8 * 1024 ** 3,
    poolId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  });
  expect(statSync(`${dataDir}/instance.json`).mode & 0o777).toBe(0o600);
  expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  const template = JSON.parse(readFileSync(`${dataDir}/templates/base.json`, "utf8"));
  expect(template).toMatchObject({ version: 1, name: "base", user: "user", workdir: "/home/user", cpuCount: 2, memoryMB: 1024 });
  expect(template.image.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(readdirSync(`${poolPaths(dataDir).root}/layers`)).toEqual(template.image.layers.map((layer: string) => layer.slice(7)));
});

test("the base tree has its programs and its user, and nothing of the build", async () => {
  const layers = `${poolPaths(data.dataDir).root}/layers`;
  const tree = join(layers, readdirSync(layers)[0] as string);
  const inside = (script: string) =>
    // In a temporary overlay, so that the layer is not changed.
    runCommand([
      "unshare",
      "--mount",
      "--net",
      "sh",
      "-ec",
      `mount -t tmpfs t /mnt; mkdir /mnt/u /mnt/w /mnt/m
       mount -t overlay o -o lowerdir=${tree},upperdir=/mnt/u,workdir=/mnt/w /mnt/m
       mount --rbind /dev /mnt/m/dev; mount -t proc p /mnt/m/proc
       exec chroot /mnt/m /bin/bash -ec '${script}'`,
    ]);
  expect(await inside("python3 -c 'print(6*7)'".replaceAll("'", '"'))).toBe("42\n");
  expect(await inside("su - user -c id")).toBe("uid=1000(user) gid=1000(user) groups=1000(user)\n");
  expect(await inside("su - user -c pwd")).toBe("/home/user\n");
  expect(await inside('su user -c "sudo -n id -u 2>/dev/null"')).toBe("0\n");
  const programs = "bash git curl wget node npm npx pip python3 jq unzip xz ssh ss ps less vi nano sudo apt-get";
  expect(await inside(`for p in ${programs}; do command -v $p >/dev/null || echo missing $p; done`)).toBe("");
  expect(await inside("npm --version")).toMatch(/^10\./);
  expect(await inside("python3 -m venv /tmp/v; test -x /tmp/v/bin/pip; LC_ALL=C.UTF-8 locale charmap")).toBe("UTF-8\n");
  expect(readdirSync(`${tree}/var/lib/apt/lists`)).toEqual([]);
  for (const file of ["etc/resolv.conf", "etc/hostname", "etc/machine-id"]) expect(statSync(join(tree, file)).size).toBe(0);
  expect(readdirSync(`${tree}/usr/local/share/ca-certificates`)).toEqual([]);
  expect(existsSync(`${tree}/etc/apt/apt.conf.d/99mmdebstrap`)).toBe(false);
}, 60_000);

test("the layer of the base template goes out as the tar that it was made from", async () => {
  const store = new LayerStore(data.dataDir);
  for (const { digest } of store.list()) {
    const hash = new Bun.CryptoHasher("sha256");
    for await (const piece of store.export(digest, new AbortController().signal)) hash.update(piece);
    expect(`sha256:${hash.digest("hex")}`).toBe(digest);
  }
}, 60_000);

test("the guest bundle runs in an empty tree, with its own loader", async () => {
  const bundle = guestDirectory(data.dataDir);
  expect(readdirSync(bundle).sort()).toEqual(["agent", "cgroup", "host", "init", "launch", "lib"]);
  expect(readdirSync(`${bundle}/cgroup`).sort()).toEqual(["cpu", "cpuacct", "memory", "pids"]);
  expect(readdirSync(`${bundle}/lib`)).toContain("ld.so");
  // A static program has no interpreter.
  for (const program of ["init", "launch"])
    expect(() => interpreterPatch(readFileSync(`${bundle}/${program}`), "/x")).toThrow("names no interpreter");
  const environment = Object.entries(AGENT_ENVIRONMENT)
    .map((pair) => pair.join("="))
    .join(" ");
  const script = `
    mount -t tmpfs t /mnt; mkdir /mnt/.boxyard /mnt/proc /mnt/dev; mount --bind ${bundle} /mnt/.boxyard; mount --rbind /dev /mnt/dev; mount -t proc p /mnt/proc
    ip link set lo up
    env -i PATH=/usr/sbin:/usr/bin ${environment} BOXYARD_INIT_KEY=k chroot /mnt /.boxyard/init -- /.boxyard/agent >/dev/null 2>&1 &
    curl --silent --retry 80 --retry-connrefused --retry-delay 1 --retry-max-time 80 -o /dev/null -w '%{http_code}' http://127.0.0.1:${AGENT_PORT}/health`;
  expect(await runCommand(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec", script])).toBe("204");
}, 120_000);

/** What all data directories of the machine share: an uninstall in another test takes the kernel's settings back, and then any set-up raises them again. */
const OF_MACHINE = new Set(["packages", "kernel"]);

test("after a kill at any moment the next set-up goes on, and leaves nothing unfinished", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "boxyard-data-"));
  const config: SetupConfig = { ...data.config, dataDir };
  try {
    for (const afterMs of [30, 120, 300, 500, 700, 900, 1100, 1300]) {
      const child = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/run-setup.ts"), JSON.stringify(config)], {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
      });
      await Promise.race([Bun.sleep(afterMs), child.exited]);
      child.kill("SIGKILL");
      await child.exited;
    }
    const [first, second] = [recorder(), recorder()];
    await Promise.all([runSetup(config, first), runSetup(config, second)]);
    expect(first.ran.filter((stage) => second.ran.includes(stage) && !OF_MACHINE.has(stage))).toEqual([]);
    expect(await pendingStages(config)).toEqual([]);
    expect(readdirSync(`${dataDir}/guest`).sort()).toEqual([guestDirectory(dataDir).split("/").pop() as string, "current"].sort());
    expect(readdirSync(`${dataDir}/pool/layers`)).toHaveLength(1);
    expect(readdirSync(dataDir).filter((name) => name.endsWith(".new"))).toEqual([]);
  } finally {
    if (isPoolMounted(dataDir)) await unmountPool(dataDir);
    rmSync(dataDir, { recursive: true });
  }
}, 240_000);

test("a compiler that outlives a killed set-up keeps the lock until it has written its file", async () => {
  const work = mkdtempSync(join(tmpdir(), "boxyard-compiler-"));
  const dataDir = join(work, "data");
  // The compiler, as a stage of set-up starts it: it waits for the test, and then writes what its set-up asked for.
  const script = `#!/bin/sh\ntouch ${work}/begun; read line <${work}/go; while [ "$1" != -o ]; do shift; done; mkdir -p "\${2%/*}"; echo >"$2"`;
  writeFileSync(join(work, "musl-gcc"), script, { mode: 0o755 });
  await runCommand(["mkfifo", join(work, "go")]);
  // The compiler goes on when this end is closed, also when the test fails.
  const go = openSync(join(work, "go"), "r+");
  try {
    const argv = [process.execPath, join(import.meta.dir, "fixtures/run-setup.ts"), JSON.stringify({ ...data.config, dataDir })];
    const child = Bun.spawn(argv, { stdio: ["ignore", "ignore", "ignore"], env: { ...process.env, PATH: `${work}:${process.env.PATH}` } });
    try {
      await eventually("the compiler runs", () => existsSync(join(work, "begun")), { withinMs: 120_000 });
      expect(tryLockFile(`${dataDir}/setup.lock`)).toBeUndefined();
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
    expect(tryLockFile(`${dataDir}/setup.lock`)).toBeUndefined();
    const [unfinished] = readdirSync(`${dataDir}/guest`);
    expect(existsSync(`${dataDir}/guest/${unfinished}/launch`)).toBe(false);
    writeSync(go, "\n");
    (await lockFile(`${dataDir}/setup.lock`)).release();
    expect(existsSync(`${dataDir}/guest/${unfinished}/launch`)).toBe(true);
  } finally {
    closeSync(go);
    rmSync(work, { recursive: true });
  }
}, 180_000);

test("after a reboot (the pool is not mounted) only the stage of the pool runs again", async () => {
  await runSetup(data.config, silentReporter);
  await unmountPool(data.dataDir);
  expect(await isSetUp(data.config)).toBe(false);
  const reporter = recorder();
  await runSetup(data.config, reporter);
  expect(reporter.ran).toEqual(["pool"]);
}, 60_000);

test("a directory that was copied elsewhere is set up again, with another instance name", async () => {
  const copy = mkdtempSync(join(tmpdir(), "boxyard-data-"));
  try {
    mkdirSync(copy, { recursive: true });
    await runCommand(["cp", `${data.dataDir}/instance.json`, `${data.dataDir}/setup.json`, copy]);
    const pending = (await pendingStages({ ...data.config, dataDir: copy })).map(({ name }) => name);
    expect(pending).toEqual(["instance", "guest", "fork-server", "pool", "checkpoint", "base"]);
  } finally {
    rmSync(copy, { recursive: true });
  }
});

test("a lost pool is made again, and the result says that it is another pool and what to do", async () => {
  const { dataDir, config } = data;
  await unmountPool(dataDir);
  rmSync(poolPaths(dataDir).image);
  expect(await isSetUp(config)).toBe(false);
  const results: string[] = [];
  await runSetup(config, { ...silentReporter, begin: () => ({ progress() {}, result: (text) => void results.push(text) }) });
  expect(results.join("\n")).toContain("this is another pool than before: rebuild your templates");
  expect((await pendingStages(config)).map(({ name }) => name)).toEqual([]);
  // `base` is there again.
  const template = JSON.parse(readFileSync(`${dataDir}/templates/base.json`, "utf8"));
  expect(readdirSync(poolPaths(dataDir).layers)).toEqual(template.image.layers.map((layer: string) => layer.slice(7)));
  const again = recorder();
  await runSetup(config, again);
  expect(again.ran).toEqual([]);
}, 120_000);
