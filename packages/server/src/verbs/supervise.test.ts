import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@boxyard/core";
import { readSupervisorFile, writeServerFile } from "../server-file.ts";
import { runningServer } from "./doctor.ts";
import { type Started, supervise } from "./supervise.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "boxyard-supervise-"));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** A server that says that it answers, as this process, and ends when it is told to. */
class Servers {
  readonly starts: { readonly isFirst: boolean; readonly at: number; end: (exitCode: number) => void }[] = [];
  private readonly clock: FakeClock;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  readonly start = (isFirst: boolean): Started => {
    const { promise, resolve } = Promise.withResolvers<number>();
    writeServerFile(dataDir, "http://127.0.0.1:1", "test");
    this.starts.push({ isFirst, at: this.clock.monotonic(), end: resolve });
    return { pid: process.pid, exited: promise, end: () => resolve(0) };
  };

  async started(count: number): Promise<(typeof this.starts)[number]> {
    while (this.starts.length < count) {
      await this.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return this.starts[count - 1] as (typeof this.starts)[number];
  }
}

const say = () => {};

test("a server that crashes is started again, at once and then later; one that is to end ends, and we with it", async () => {
  const clock = new FakeClock(0);
  const servers = new Servers(clock);
  const stop = new AbortController();
  const running = supervise({ dataDir, start: servers.start, stop: stop.signal, clock, say });
  const first = await servers.started(1);
  await clock.advance(60_000);
  first.end(137);
  const second = await servers.started(2);
  expect(second.at - first.at).toBeLessThan(61_000);
  second.end(139);
  const third = await servers.started(3);
  expect(third.at - second.at).toBeGreaterThanOrEqual(1000);
  expect(servers.starts.map(({ isFirst }) => isFirst)).toEqual([true, false, false]);
  expect(readSupervisorFile(dataDir)).toMatchObject({ pid: process.pid, server: process.pid });
  stop.abort();
  expect(await running).toBe(0);
  expect(readSupervisorFile(dataDir)).toBeUndefined();
});

test("one that fails at once three times is left alone, and doctor says why", async () => {
  const clock = new FakeClock(0);
  const servers = new Servers(clock);
  const running = supervise({ dataDir, start: servers.start, stop: new AbortController().signal, clock, say });
  const first = await servers.started(1);
  await clock.advance(60_000);
  first.end(1);
  writeFileSync(join(dataDir, "server.log"), "{}\nboxyard serve: the disk is gone\n{}\n");
  for (const n of [2, 3, 4]) (await servers.started(n)).end(1);
  expect(await running).toBe(1);
  expect(servers.starts).toHaveLength(4);
  rmSync(join(dataDir, "server.json"));
  expect(await runningServer(dataDir)).toMatchObject({
    status: "warn",
    found: expect.stringMatching(/failed at once three times.*the disk is gone/),
  });
});

test("one that fails before it has ever answered is the business of the one who starts it", async () => {
  const clock = new FakeClock(0);
  let starts = 0;
  const start = () => {
    starts += 1;
    return { pid: 1, exited: Promise.resolve(1), end: () => {} };
  };
  expect(await supervise({ dataDir, start, stop: new AbortController().signal, clock, say })).toBe(1);
  expect([starts, readSupervisorFile(dataDir)]).toEqual([1, undefined]);
});
