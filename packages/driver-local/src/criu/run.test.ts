import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AppError, isAppError } from "@boxyard/core";
import { staysTrueFor } from "@boxyard/testkit";
import type { ForkServer } from "../sys/fork-server/index.ts";
import { close, ioctl, O, pipe, syscall } from "../sys/libc.ts";
import { type CriuRun, runCriu } from "./run.ts";

/** ioctl: how many bytes can be read. */
const FIONREAD = 0x541b;

const work = mkdtempSync(join(tmpdir(), "boxyard-criu-run-"));
const log = join(work, "log");
const opened: number[] = [];
afterEach(() => {
  for (const fd of opened.splice(0)) close(fd);
});
afterAll(() => rmSync(work, { recursive: true }));

/** The error of a run whose CRIU ends like this; undefined when the run succeeds. */
async function failure(end: () => Promise<number>, other: Partial<CriuRun> = {}): Promise<unknown> {
  const forkServer = { run: end } as unknown as ForkServer;
  const of = { criu: { file: "/none", args: [] }, server: "boxyard-test", script: "/none", args: [], moments: [] };
  const run = { ...of, forkServer, log, limitMs: 60_000, verb: "checkpoint", at: async () => {}, ...other } as CriuRun;
  return runCriu(run).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("after a start that failed, the run does not read its closed descriptors, which may belong to other files", async () => {
  expect(String(await failure(() => Promise.reject(new Error("no start"))))).toContain("no start");
  // Some of these have the numbers of the run's descriptors.
  const pipes = Array.from({ length: 8 }, () => pipe(O.NONBLOCK));
  opened.push(...pipes.flatMap(({ read, write }) => [read, write]));
  for (const { write } of pipes) syscall("write", [write, new Uint8Array(1), 1]);
  const waiting = new Int32Array(1);
  const holdsItsByte = ({ read }: { readonly read: number }) => {
    ioctl(read, FIONREAD, waiting);
    return waiting[0] === 1;
  };
  await staysTrueFor(200, "each byte is there", () => pipes.every(holdsItsByte));
});

test("a full disk is reported as such, although its line in the log is followed by other errors", async () => {
  const others = Array.from({ length: 6 }, (_, i) => `(00.1) Error (criu/cr-dump.c:${i}): Dump failed`);
  writeFileSync(log, ["(00.1) Error (criu/page-xfer.c:1): No space left on device", ...others].join("\n"));
  const full = await failure(async () => 1);
  expect([isAppError(full, "resource_exhausted"), String(full)]).toEqual([true, expect.stringContaining("the disk is full")]);
  expect((full as AppError).details.said).toContain("cr-dump.c:5");
  writeFileSync(log, others.join("\n"));
  expect(isAppError(await failure(async () => 1), "internal")).toBe(true);
});
