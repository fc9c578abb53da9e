import { describe, expect, test } from "bun:test";
import { newestFirst, oldestFirst, type Position, pageIn } from "./page.ts";

const ITEMS: readonly Position[] = [
  { at: 3, id: "a" },
  { at: 1, id: "b" },
  { at: 2, id: "d" },
  { at: 2, id: "c" },
  { at: 0, id: "e" },
];
const itself = (item: Position) => item;

describe.each([
  ["oldest", oldestFirst, "ebcda"],
  ["newest", newestFirst, "acdbe"],
] as const)("a list with the %s first", (_, order, all) => {
  test.each([1, 2, 3, 5, 9])("has each item once in pages of %d", (limit) => {
    const seen: string[] = [];
    let after: Position | undefined;
    do {
      const { items, next } = pageIn(ITEMS, order, itself, { after, limit });
      expect(items.length).toBeLessThanOrEqual(limit);
      seen.push(...items.map(({ id }) => id));
      after = next;
    } while (after);
    expect(seen.join("")).toBe(all);
  });

  test("goes on behind an item that was removed", () => {
    for (const gone of ITEMS) {
      const rest = pageIn(
        ITEMS.filter((item) => item !== gone),
        order,
        itself,
        { after: gone, limit: 9 },
      );
      expect(rest.items.map(({ id }) => id).join("")).toBe(all.slice(all.indexOf(gone.id) + 1));
    }
  });
});
