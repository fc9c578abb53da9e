import { expect, test } from "bun:test";
import { mostLocking } from "./file-locks.ts";

const lines = (pid: number, count: number) => `7: POSIX  ADVISORY  WRITE ${pid} 00:2f:257 2 2\n`.repeat(count);
const LIST = `1: POSIX  ADVISORY  WRITE 900 fd:00:11 0 EOF
1: -> POSIX  ADVISORY  WRITE 901 fd:00:11 0 EOF
2: OFDLCK ADVISORY  READ -1 00:06:2 0 EOF
${lines(11, 300)}${lines(12, 300)}${lines(21, 400)}${lines(901, 900)}`;
/** 10 and 20 are first processes, 11, 12 and 21 others of their sandboxes; 9xx are the machine's. */
const namespaceOf = (pid: number) => (pid >= 900 ? "machine" : pid === 13 ? undefined : `sandbox ${Math.floor(pid / 10)}`);
const machine = (slabs: string, list = LIST) => ({ namespaceOf, read: (path: string) => (path === "/proc/slabinfo" ? slabs : list) });
const MANY = "slabinfo - version: 2.1\nfile_lock_ctx  1 1\nfile_lock_cache   400071 400071    192   21    1\n";

test("the sandbox that holds most locks is found, whichever of its processes has them", () => {
  expect(mostLocking([10, 20], machine(MANY))).toBe(10);
  expect(mostLocking([20], machine(MANY))).toBe(20);
  // A kernel without a counter of its own for locks.
  expect(mostLocking([10, 20], machine("dentry 1 1 192\n"))).toBe(10);
});

test("no sandbox is found while there are few locks on the machine, or when each sandbox has few of them", () => {
  expect(mostLocking([10, 20], machine("file_lock_cache   5000 5000    192   21    1\n"))).toBeUndefined();
  expect(mostLocking([10, 20], machine(MANY, lines(901, 5000) + lines(11, 20)))).toBeUndefined();
  expect(mostLocking([], machine(MANY))).toBeUndefined();
});

test("this machine's lists can be read", () => {
  expect(mostLocking([process.pid])).toBeUndefined();
});
