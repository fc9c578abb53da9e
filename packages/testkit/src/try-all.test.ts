import { expect, test } from "bun:test";
import { tryAll } from "./try-all.ts";

const fails = (message: string) => async () => {
  throw new Error(message);
};

test("every act is done, in order, and each failure is told", async () => {
  const done: number[] = [];
  const acts = [() => done.push(1), fails("one"), async () => done.push(2), fails("two"), () => done.push(3)];
  const error = await tryAll(acts).catch((thrown: unknown) => thrown);
  expect(done).toEqual([1, 2, 3]);
  expect(error).toMatchObject({ message: "one; two", errors: [{ message: "one" }, { message: "two" }] });
});

test("a single failure is thrown as it is, and none is thrown when all succeed", async () => {
  const error = await tryAll([fails("one"), () => {}]).catch((thrown: unknown) => thrown);
  expect([error instanceof AggregateError, (error as Error).message]).toEqual([false, "one"]);
  await tryAll([() => {}]);
});
