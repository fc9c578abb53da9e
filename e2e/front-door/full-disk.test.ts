import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStat } from "@boxyard/core/node";
import {
  CHECKOUT,
  eventually,
  makeSmallDisk,
  type ProgramResult,
  readTestConfig,
  runProgram,
  type SmallDisk,
  tryAll,
} from "@boxyard/testkit";

/*
 * A whole installation on a disk that other programs fill to the last byte: pool, store, log and data directory lie on it. The command is used as a
 * user types it; each test goes on where the one before has ended.
 */

setDefaultTimeout(240_000);
const MIB = 2 ** 20;
const config = readTestConfig();

let disk: SmallDisk;
let data: string;
/** On another disk. */
let elsewhere: string;
let kept: { readonly id: string; readonly pid: number; readonly sum: string };

beforeAll(() => {
  disk = makeSmallDisk(4096);
  data = join(disk.path, "data");
  elsewhere = mkdtempSync(join(tmpdir(), "boxyard-elsewhere-"));
});
afterAll(async () => {
  await tryAll([
    giveBack,
    () => existsSync(data) && works("uninstall", "--yes"),
    () => rmSync(elsewhere, { recursive: true }),
    () => disk.remove(),
  ]);
});

function boxyard(...args: string[]): Promise<ProgramResult> {
  // Little ahead, so that the pool is short as soon as the disk is full.
  const pool = { BOXYARD_POOL_SIZE: "4G", BOXYARD_POOL_AHEAD: "256M" };
  const own = { BOXYARD_DATA: data, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0", ...pool };
  return runProgram([join(CHECKOUT, "boxyard"), ...args], { env: { ...config.env, ...own }, limitMs: 200_000 });
}

async function works(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await boxyard(...args);
  expect({ args, exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ args, exitCode: 0, stderr: "" });
  return stdout;
}

async function fails(...args: string[]): Promise<string> {
  const { exitCode, stderr } = await boxyard(...args);
  expect({ args, exitCode }).toEqual({ args, exitCode: 1 });
  expect(stderr).not.toMatch(/\n\s+at /);
  return stderr;
}

const ballast = () => join(disk.path, "ballast");
const giveBack = () => rmSync(ballast(), { recursive: true, force: true });

/** Takes the whole disk as a program would: a large file at once, then the rest block by block. */
const TAKE_ALL = `
mkdir -p "$0"; cd "$0" || exit
[ -e much ] || fallocate -l "$1" much
cat /dev/zero >> rest
for i in $(seq 300); do echo x > "$$-$i" || break; done
sync -f .`;

/** Takes all that is left, to the last byte. */
async function fill(): Promise<void> {
  await eventually(
    "nothing is left",
    async () => {
      const { bavail, bsize } = statfsSync(disk.path);
      await runProgram(["sh", "-c", TAKE_ALL, ballast(), `${Math.max(0, bavail * bsize - 8 * MIB)}`], {});
      return statfsSync(disk.path).bavail === 0;
    },
    { withinMs: 60_000 },
  );
}

async function create(): Promise<{ id: string; pid: number }> {
  const id = (await works("sandbox", "create", "--timeout", "3600")).trim();
  const { process } = JSON.parse(readFileSync(join(data, "sandboxes", id, "state.json"), "utf8")) as { process: { pid: number } };
  return { id, pid: process.pid };
}

/** The server's own words, which the full disk may cut off; then the command says it. */
const SAYS_FULL =
  /can't be written \(ENOSPC: .*\); make room there|boxyard\.db has no room left on its disk; make some|There is no room left on the disk of .*: make some/;

const isAlive = (pid: number) => processStat(pid) !== undefined;
const isMounted = () => readFileSync("/proc/self/mountinfo", "utf8").includes(` ${join(data, "pool")} `);
const server = () => JSON.parse(readFileSync(join(data, "server.json"), "utf8")) as { pid: number; url: string };
const READ = "dd if=/tmp/kept bs=1M iflag=direct status=none | sha256sum";

async function call(method: string, path: string, body?: unknown): Promise<{ status: number; retryAfter: string | null; body: unknown }> {
  const headers = { "X-API-Key": readFileSync(join(data, "api-key"), "utf8").trim(), "Content-Type": "application/json" };
  const response = await fetch(`${server().url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, retryAfter: response.headers.get("Retry-After"), body: text === "" ? undefined : JSON.parse(text) };
}

async function poolLine(): Promise<{ status: string; found: string; fix?: string }> {
  const { stdout } = await boxyard("doctor", "--json");
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; found: string; fix?: string }[] };
  return checks.find(({ name }) => name === "pool") as { status: string; found: string };
}

test("what a sandbox has written is kept when the disk is full; what is new is refused by name, and the rest goes on", async () => {
  await works("up", "-d");
  const [one, other] = [await create(), await create()];
  const sum = await works("exec", one.id, "--", "sh", "-c", "head -c 64M /dev/urandom > /tmp/kept && sha256sum < /tmp/kept");
  kept = { ...one, sum };
  const { pid } = server();
  await fill();
  expect(await works("exec", one.id, "--", "sh", "-c", `sync /tmp/kept && ${READ}`)).toBe(sum);
  expect(await poolLine()).toMatchObject({
    status: "warn",
    found: expect.stringContaining("host_disk_full"),
    fix: expect.stringContaining("Make room on the disk of"),
  });
  const makeRoom = "end some, or make room on the machine's disk ('boxyard doctor' says which is short)";
  const noRoom = { error_code: "sandbox_capacity_unavailable", message: expect.stringContaining(makeRoom) };
  expect(await call("POST", "/v2/sandboxes", { templateID: "base" })).toMatchObject({ status: 503, retryAfter: "5", body: noRoom });
  await eventually("the store's log has no room left", async () =>
    (await boxyard("key", "create", "another")).stderr.includes("The server's store has no room left on its disk; make some"),
  );
  const storeFull = { status: 503, retryAfter: "1", body: { error_code: "store_full", message: expect.stringContaining("make some") } };
  for (const verb of ["pause", "snapshots", "fork"]) {
    expect({ verb, ...(await call("POST", `/sandboxes/${one.id}/${verb}`, {})) }).toMatchObject({ verb, ...storeFull });
  }
  const [small, copy, noPlace] = [join(elsewhere, "small"), join(elsewhere, "copy"), join(disk.path, "copy")];
  writeFileSync(small, new Uint8Array(32 * MIB));
  const said = await eventually(
    "the sandbox has used up what it may still have",
    async () => {
      await boxyard("exec", one.id, "--", "sh", "-c", "cat /dev/zero >> /tmp/full");
      const { exitCode, stderr } = await boxyard("cp", small, `${one.id}:/tmp/small`);
      return exitCode === 1 && stderr;
    },
    { withinMs: 100_000 },
  );
  expect(said).toContain("not enough disk space available (quota)\n");
  expect(said).toContain("the server's machine is short of disk (`boxyard doctor`)");
  await works("exec", one.id, "--", "rm", "/tmp/full");
  await works("cp", `${one.id}:/tmp/kept`, copy);
  expect(`${new Bun.CryptoHasher("sha256").update(readFileSync(copy)).digest("hex")}  -\n`).toBe(sum);
  expect(await fails("cp", `${one.id}:/tmp/kept`, noPlace)).toContain("is full: free some space, then try again");
  expect(existsSync(noPlace)).toBe(false);
  // A kill ends the sandbox also on a full disk.
  await works("sandbox", "kill", other.id);
  expect(isAlive(other.pid)).toBe(false);
  expect((await call("GET", `/sandboxes/${other.id}`)).status).toBe(404);
  expect(isAlive(one.pid)).toBe(true);
  expect(server().pid).toBe(pid);
});

test("all goes on by itself when there is room", async () => {
  giveBack();
  const again = await eventually(
    "a sandbox can be created",
    async () => {
      const { exitCode, stdout } = await boxyard("sandbox", "create");
      return exitCode === 0 && stdout.trim();
    },
    { withinMs: 60_000 },
  );
  await works("sandbox", "kill", again);
  await works("exec", kept.id, "--", "sh", "-c", "head -c 300M /dev/zero > /tmp/more && sync /tmp/more && rm /tmp/more");
  expect(await poolLine()).toMatchObject({ status: "ok" });
});

test("on a full disk `down` works, `up -d` says what to do, and sandboxes run on", async () => {
  await fill();
  await works("down");
  await fill();
  expect(await fails("up", "-d")).toMatch(SAYS_FULL);
  expect(isAlive(kept.pid)).toBe(true);
});

test("on a full disk `down --sandboxes` ends all and unmounts the pool, and `up -d` then says what to do", async () => {
  await works("down", "--sandboxes");
  expect(isAlive(kept.pid)).toBe(false);
  expect(isMounted()).toBe(false);
  await fill();
  expect(await fails("up", "-d")).toMatch(SAYS_FULL);
});

test("with room again `up -d` goes on from there", async () => {
  giveBack();
  await works("up", "-d");
  const { id } = await create();
  expect(await works("exec", id, "--", "sh", "-c", "head -c 300M /dev/zero > /tmp/more && sync /tmp/more && echo works")).toBe("works\n");
});

test("on a full disk `uninstall` ends the sandboxes and leaves nothing", async () => {
  await fill();
  await works("uninstall", "--yes");
  expect(isMounted()).toBe(false);
  expect(existsSync(data)).toBe(false);
});
