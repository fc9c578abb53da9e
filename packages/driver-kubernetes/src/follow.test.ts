import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import type { KubeApi } from "./api/client.ts";
import { Follow } from "./follow.ts";

/** Follows the objects of an API server whose every watch tells these events and ends. Returns how often everything was listed, before and after 100 ms. */
async function listedBy(...events: readonly object[]): Promise<[number, number]> {
  const clock = new FakeClock();
  let lists = 0;
  const get = async () => {
    lists += 1;
    await turn();
    return { metadata: { resourceVersion: "1" }, items: [] };
  };
  async function* watch() {
    await turn();
    yield* events;
  }
  const options = { path: "/api/v1/pods", query: {}, clock, logger: { warn: () => {} }, onList: () => {}, onChange: () => {} };
  const follow = new Follow({ get, watch } as unknown as KubeApi, options);
  follow.start();
  for (let turns = 0; turns < 50; turns++) await turn();
  const early = lists;
  await clock.advance(100);
  for (let turns = 0; turns < 50; turns++) await turn();
  const late = lists;
  await follow.stop();
  return [early, late];
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test.each([
  ["fails", [{ type: "ERROR", object: { code: 500, message: "etcd has no leader" } }]],
  ["ends at once", []],
])("a watch that %s is opened again after a pause: the API server is not asked for everything without an end", async (_how, events) => {
  expect(await listedBy(...events)).toEqual([1, 2]);
});
