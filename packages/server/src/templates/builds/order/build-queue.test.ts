import { expect, test } from "bun:test";
import type { BuildLog } from "../log/build-log.ts";
import type { BuildOrder } from "./build-order.ts";
import { type BuildJob, BuildQueue } from "./build-queue.ts";

/** A queue with one place, whose builds end when they are told to. */
function setUp() {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const work = ({ order: { build } }: BuildJob) => {
    order.push(build.id);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const queue = new BuildQueue({
    maxBuilds: 1,
    work,
    onError: (error) => {
      throw error;
    },
  });
  const add = (teamId: string, id: string) =>
    queue.add({ teamId, build: { id, templateId: id, tags: ["default"] } } as unknown as BuildOrder, {} as BuildLog);
  const end = async () => {
    ends.shift()?.();
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
  };
  return { queue, order, add, end };
}

test("teams take turns: one with many builds does not keep another waiting", async () => {
  const { queue, order, add, end } = setUp();
  for (const id of ["a1", "a2", "a3"]) add("a", id);
  for (const id of ["b1", "b2"]) add("b", id);
  for (let n = 0; n < 5; n++) await end();
  expect([order, queue.jobs()]).toEqual([["a1", "b1", "a2", "b2", "a3"], []]);
});
