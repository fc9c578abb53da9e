import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { ForkServer } from "../sys/fork-server/index.ts";
import { buildHelper } from "../testing/build-helper.ts";
import type { PosixLock } from "./posix-locks.ts";
import { canSetLocks, setLocks, settingProgram } from "./set-locks.ts";

const work = mkdtempSync(join(tmpdir(), "boxyard-set-locks-"));
const forkServer = new ForkServer(buildHelper("fork-server"));
afterAll(() => {
  forkServer.close();
  rmSync(work, { recursive: true });
});

/** A process that has a file open as descriptor 9, and exits with 0 when it reads a byte or the end of its input. */
async function waiting() {
  const child = Bun.spawn(["sh", "-c", `exec 9<>${work}/file; exec head -c 1`], { stdin: "pipe", stdout: "ignore" });
  await eventually("it waits", () => readFileSync(`/proc/${child.pid}/comm`, "utf8") === "head\n");
  return child;
}
const lock = (pid: number, of: Partial<PosixLock> = {}): PosixLock => ({ pid, fd: 9, type: "WRITE", start: 5n, length: 10n, ...of });
const limitMs = 20_000;

test.if(canSetLocks)("a process that waits has the locks afterwards, and goes on waiting", async () => {
  const child = await waiting();
  const many = Array.from({ length: 250 }, (_, i) => lock(child.pid, { type: "READ", start: BigInt(100 + 2 * i), length: 1n }));
  await setLocks([lock(child.pid), lock(child.pid, { start: 2n ** 40n, length: 0n }), ...many], {
    ...{ forkServer, processes: [child.pid], limitMs },
  });
  const info = readFileSync(`/proc/${child.pid}/fdinfo/9`, "utf8");
  expect(info.match(/^lock:.* POSIX /gm)).toHaveLength(252);
  expect(info).toMatch(/ WRITE .* 1099511627776 EOF$/m);
  child.stdin.write("x");
  child.stdin.end();
  expect(await child.exited).toBe(0);
});

test.if(canSetLocks)("a lock that cannot be set is reported, and so is a process that does not exist", async () => {
  const child = await waiting();
  const how = { forkServer, processes: [child.pid], limitMs };
  expect(String(await setLocks([lock(child.pid, { fd: 8 })], how).catch((e: unknown) => e))).toContain("ENOENT");
  expect(String(await setLocks([lock(child.pid), lock(1)], how).catch((e: unknown) => e))).toContain("process 1 does not exist");
  child.stdin.end();
  expect(await child.exited).toBe(0);
});

test.if(canSetLocks)("a process is killed when setting its locks is cut off", async () => {
  const child = await waiting();
  // No memory is mapped there, so nothing can be written.
  const nowhere = { stack: 1024n, instruction: 2n };
  expect(String(await forkServer.run(settingProgram(child.pid, nowhere, [lock(child.pid)])).catch((e: unknown) => e))).toContain(
    "POKEDATA",
  );
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
});
