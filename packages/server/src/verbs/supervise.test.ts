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

/** Fake servers: each writes the server file with this process's id, and ends when the test calls `end`. */
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

test("a server that crashes is started again, at once and then after a pause; at a stop server and supervisor end", async () => {
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

test("a server that fails at once three times is not started again, and doctor gives the reason", async () => {
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

test("a server that fails before it has ever answered is not started again", async () => {
  const clock = new FakeClock(0);
  let starts = 0;
  const start = () => {
    starts += 1;
    return { pid: 1, exited: Promise.resolve(1), end: () => {} };
  };
  expect(await supervise({ dataDir, start, stop: new AbortController().signal, clock, say })).toBe(1);
  expect([starts, readSupervisorFile(dataDir)]).toEqual([1, undefined]);
});
