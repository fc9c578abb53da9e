import { expect, test } from "bun:test";
import { untilDiscarded, within } from "./end-limit.ts";

const never = new Promise<number>(() => {});

test("a child that does not end after it was killed is not waited for without end", async () => {
  let kills = 0;
  const kill = () => void kills++;
  await expect(within(5, never, kill, 20)).rejects.toMatchObject({ code: "unavailable", reason: "child_stays" });
  expect(kills).toBe(1);
  await untilDiscarded(never, 20);
});

test("a killed child's end, and one within the limit, are told apart", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  await expect(within(5, promise, () => resolve(137), 10_000)).rejects.toMatchObject({ code: "unavailable", reason: "child_hung" });
  expect(await within(10_000, Promise.resolve(7), () => expect.unreachable(), 10_000)).toBe(7);
  await expect(within(10_000, Promise.reject(new Error("gone")), () => {}, 10_000)).rejects.toThrow("gone");
});
