import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppError } from "@boxyard/core";
import { packGuest } from "../pack-carried.ts";
import { applyPatch, makePatch } from "./runtime-patch.ts";
import { GUEST_DIRECTORY, unpackGuest } from "./unpack.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-carried-"));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function file(content: Uint8Array | string): string {
  const path = join(directory, `file-${++files}`);
  writeFileSync(path, content);
  return path;
}

/** Pseudo-random bytes, the same for the same seed. */
function noise(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0, x = seed; i < length; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    bytes[i] = x >>> 24;
  }
  return bytes;
}

function withBytes(bytes: Uint8Array, ...changes: readonly [at: number, value: number][]): Uint8Array {
  const copy = new Uint8Array(bytes);
  for (const [at, value] of changes) copy[at] = value;
  return copy;
}

const runtime = noise(3_000_000, 1);
const head: [number, number] = [16, (runtime[16] ?? 0) ^ 1];
const agent = Buffer.concat([withBytes(runtime, head, [2_000_000, (runtime[2_000_000] ?? 0) ^ 1]), noise(100_000, 2)]);
/** The executable differs from the runtime only where the agent does too, and at its end. */
const executable = Buffer.concat([withBytes(runtime, head), noise(500_000, 3)]);

test("the agent is restored from the executable byte for byte, and the patch has only the bytes that differ", () => {
  const patch = makePatch(runtime, agent);
  expect(patch.length).toBeLessThan(100_000 + 4 * 4096);
  const target = join(directory, "agent");
  applyPatch(patch, file(executable), target);
  expect(readFileSync(target).equals(agent)).toBe(true);
  expect(statSync(target).mode & 0o111).not.toBe(0);
});

test("files with nothing in common, shorter files and empty files are restored", () => {
  for (const content of [noise(10_000, 9), runtime.subarray(0, 12_345), new Uint8Array(0), runtime]) {
    const target = join(directory, `out-${++files}`);
    applyPatch(makePatch(runtime, content), file(runtime), target);
    expect(readFileSync(target).equals(content)).toBe(true);
  }
});

test("an executable that was changed or truncated is refused", () => {
  const patch = makePatch(runtime, agent);
  for (const broken of [withBytes(executable, [1_000_000, (executable[1_000_000] ?? 0) ^ 1]), executable.subarray(0, 1_000_000)]) {
    let error: unknown;
    try {
      applyPatch(patch, file(broken), join(directory, `out-${++files}`));
    } catch (e) {
      error = e;
    }
    expect((error as AppError).reason).toBe("bad_executable");
  }
});

test("a packed guest bundle unpacks to the same files, all of them executable, with its empty directories", () => {
  const guest = join(directory, "guest-in");
  mkdirSync(join(guest, "lib"), { recursive: true });
  const contents = { agent, init: Buffer.from("init"), "lib/ld.so": Buffer.from("loader") };
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(guest, name), content);
  const root = join(directory, "root");
  packGuest(guest, runtime, join(root, GUEST_DIRECTORY));
  const target = join(directory, "guest-out");
  const umask = process.umask(0o077);
  try {
    unpackGuest(root, target, file(executable));
  } finally {
    process.umask(umask);
  }
  const found = readdirSync(target, { recursive: true, encoding: "utf8" }).sort();
  const directories = ["cgroup", "cgroup/cpu", "cgroup/cpuacct", "cgroup/memory", "cgroup/pids", "host", "lib"];
  expect(found).toEqual([...directories, ...Object.keys(contents)].sort());
  for (const [name, content] of Object.entries(contents)) {
    expect(readFileSync(join(target, name)).equals(content)).toBe(true);
    expect(statSync(join(target, name)).mode & 0o777).toBe(0o755);
  }
});
