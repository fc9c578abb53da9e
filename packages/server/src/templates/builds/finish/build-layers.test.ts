import { expect, test } from "bun:test";
import { beyondBound } from "./build-layers.ts";

const entry = (key: string, ...layers: string[]) => ({ key, result: JSON.stringify({ image: { digest: "", layers } }) });
const sizes = new Map([
  ["base", 100],
  ["a", 10],
  ["b", 10],
  ["c", 10],
]);
const newestFirst = [entry("one", "base", "a"), entry("two", "base", "a", "b"), entry("three", "base", "c"), entry("four", "base", "gone")];

test.each<[number, string[], string[]]>([
  [30, ["base"], []],
  [29, ["base"], ["three", "four"]],
  [20, ["base"], ["three", "four"]],
  [9, ["base"], ["one", "two", "three", "four"]],
  // Layers in use do not count, and each layer counts once.
  [0, ["base", "a", "b", "c"], []],
  [110, [], ["two", "three", "four"]],
])("with a bound of %d bytes, and the layers %j in use, the results %j are removed", (most, inUse, excess) => {
  expect(beyondBound(newestFirst, new Set(inUse), sizes, most)).toEqual(excess);
});
