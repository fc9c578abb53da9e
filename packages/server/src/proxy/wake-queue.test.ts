import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { TEST_ID, TestFront } from "../testing/front.ts";
import type { RawPeer } from "../testing/raw.ts";
import type { Sleeper } from "./route-table.ts";
import { WakeQueue } from "./wake-queue.ts";

/** Sandboxes that are awake when the test says so. */
function sleeping(sandboxId: SandboxId = TEST_ID) {
  const wakes: ((noRoom?: AppError) => void)[] = [];
  const sleeper: Sleeper = { sandboxId, accessToken: "token", wake: () => new Promise((resolve) => wakes.push(resolve)) };
  return { sleeper, wakes };
}

test("one wake serves all requests that wait, and the next begins when it has ended", async () => {
  const { sleeper, wakes } = sleeping();
  const wakeQueue = new WakeQueue();
  const heard: unknown[] = [];
  const wait = () => wakeQueue.wait(sleeper, (noRoom) => heard.push(noRoom?.reason));
  const giveUp = [wait(), wait(), wait()][1];
  expect([wakes.length, wakeQueue.count(TEST_ID)]).toEqual([1, 3]);
  giveUp?.();
  expect(wakeQueue.count(TEST_ID)).toBe(2);
  wakes[0]?.(new AppError("unavailable", "full", { reason: "no_room" }));
  await eventually("they go on", () => heard.length === 2);
  expect([heard, wakeQueue.count(TEST_ID)]).toEqual([["no_room", "no_room"], 0]);
  wait();
  expect(wakes).toHaveLength(2);
});

describe("the front", () => {
  let f: TestFront;
  beforeEach(() => {
    f = new TestFront();
    f.routes.remove(TEST_ID);
  });
  afterEach(() => f[Symbol.asyncDispose]());

  const LIMIT = 4096;
  const ask = async (peer?: RawPeer) => {
    const client = peer ?? (await f.client());
    client.send(`POST / HTTP/1.1\r\n${f.headers(8000)}Content-Length: 10\r\n\r\nhalf`);
    return client;
  };

  test("refuses requests above the limit that wait for one sandbox, until one of them gives up", async () => {
    const { sleeper, wakes } = sleeping();
    f.routes.addSleeper(sleeper);
    const clients: RawPeer[] = [];
    for (let i = 0; i < LIMIT; i++) clients.push(await ask());
    const last = await ask();
    await last.includes(`"connectionLimit":${LIMIT},"details":{"limit":"connections","value":${LIMIT}}`);
    expect([last.received.split("\r\n", 1)[0], wakes.length]).toEqual(["HTTP/1.1 429 Too Many Requests", 1]);
    clients[0]?.reset();
    const { wakeQueue } = f.front as unknown as { wakeQueue: WakeQueue };
    await eventually("a place is free", () => wakeQueue.count(TEST_ID) === LIMIT - 1);
    clients[0] = await ask();
    await eventually("the place is taken", () => wakeQueue.count(TEST_ID) === LIMIT);
    wakes[0]?.();
    await clients[1]?.includes("502 Bad Gateway");
    expect(wakes).toHaveLength(1);
  }, 60_000);

  test("is 409 for a sandbox that another request resumes, if the request has the traffic token", async () => {
    f.routes.addChanging({ sandboxId: TEST_ID, trafficToken: "secret" });
    const statusOf = (port: number, path = "/", headers = {}) =>
      fetch(f.url + path, { headers: { "Svc-Sandbox-Id": TEST_ID, "Svc-Sandbox-Port": String(port), ...headers } }).then(
        ({ status }) => status,
      );
    expect(await Promise.all([statusOf(49_983, "/health"), statusOf(49_983, "/init"), statusOf(8000)])).toEqual([409, 404, 403]);
    expect(await statusOf(8000, "/", { "E2b-Traffic-Access-Token": "secret" })).toBe(409);
    f.route();
    f.routes.remove(TEST_ID);
    expect(await statusOf(8000)).toBe(502);
  });
});
