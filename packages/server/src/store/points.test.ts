import { describe, expect, test } from "bun:test";
import { decodePoints, encodePoints, FIRST, fill, type Point, thin, thinTo, UNRESPONSIVE } from "./points.ts";

const RULES = ["sum", "max", "last"] as const;
const MINUTE = 60_000;

describe("the points of a series", () => {
  test("are the same after they were stored", () => {
    const points: Point[] = [
      [1_800_000_000_000, 5000, FIRST, 7, 2 ** 40, 0],
      [1_800_000_005_000, 5000, 0, 0, 2 ** 40, 9],
      [1_800_000_060_000, 5000, UNRESPONSIVE, 12, 1, 9],
    ];
    expect(decodePoints(encodePoints(points))).toEqual(points);
    expect(decodePoints(encodePoints([]))).toEqual([]);
  });

  test("become one for each step: the sum of what was used, the most of what was held, the last of what counts up", () => {
    const points: Point[] = [
      [5000, 5000, FIRST, 10, 100, 1],
      [10_000, 5000, 0, 20, 300, 2],
      [55_000, 5000, UNRESPONSIVE, 5, 200, 3],
      [65_000, 5000, 0, 1, 50, 4],
    ];
    // The second point of a step covers the time since the first, in which nothing changed.
    expect(thin(points, MINUTE, RULES)).toEqual([
      [55_000, 55_000, FIRST | UNRESPONSIVE, 35, 300, 3],
      [65_000, 5000, 0, 1, 50, 4],
    ]);
  });

  test("stay as they are when they are thin already, and take later ones of their step", () => {
    const thinned = thin(
      [
        [5000, 5000, FIRST, 10, 100, 1],
        [65_000, 5000, 0, 1, 50, 4],
      ],
      MINUTE,
      RULES,
    );
    expect(thin(thinned, MINUTE, RULES)).toEqual(thinned);
    expect(thin([...thinned, [70_000, 5000, 0, 2, 60, 5]], MINUTE, RULES).at(-1)).toEqual([70_000, 10_000, 0, 3, 60, 5]);
  });

  test("do not cover the time of a pause", () => {
    expect(
      thin(
        [
          [5000, 5000, FIRST, 1, 1, 1],
          [50_000, 5000, FIRST, 1, 1, 1],
        ],
        MINUTE,
        RULES,
      ),
    ).toEqual([[50_000, 10_000, FIRST, 2, 1, 1]]);
  });

  test("are answered for the time in which nothing changed too, but not for a time of which nothing is known", () => {
    const idle = (before: Point, time: number, span: number): Point => [time, span, 0, 0, ...before.slice(4)];
    const known: Point[] = [
      [0, 5000, FIRST, 3, 100],
      [20_000, 5000, 0, 4, 200],
      [60_000, 5000, FIRST, 5, 300],
    ];
    const filled = fill(known, idle, 70_000, 70_000);
    expect(filled.map(([time]) => time)).toEqual([0, 5000, 10_000, 15_000, 20_000, 60_000, 65_000, 70_000]);
    expect(filled[1]).toEqual([5000, 5000, 0, 0, 100]);
    expect(filled.at(-1)).toEqual([70_000, 5000, 0, 0, 300]);
  });

  test("that are old are filled at longer steps, so that an answer stays short", () => {
    const idle = (before: Point, time: number, span: number): Point => [time, span, 0, 0, ...before.slice(4)];
    const month = 30 * 24 * 3600_000;
    const filled = fill([[0, 5000, FIRST, 3, 100]], idle, month, month);
    expect(filled.length).toBeLessThan(6700);
    expect(filled.at(-1)?.[0]).toBe(month);
  });

  test("of an answer are all when they are few, else those of the shortest step that gives few enough, and the last as it is", () => {
    const points: Point[] = Array.from({ length: 2000 }, (_, i) => [(i + 1) * MINUTE, MINUTE, 0, 1, i % 100, i]);
    expect(thinTo(points, 2000, RULES)).toBe(points);
    const some = thinTo(points, 500, RULES);
    expect(some.length).toBeLessThanOrEqual(500);
    expect(some.slice(0, 2).map(([time]) => time)).toEqual([4 * MINUTE, 9 * MINUTE]);
    expect(some[1]).toEqual([9 * MINUTE, 5 * MINUTE, 0, 5, 8, 8]);
    expect(some.at(-1)).toEqual(points.at(-1) as Point);
    // Nothing that was used is lost.
    expect(some.reduce((sum, point) => sum + (point[3] ?? 0), 0)).toBe(2000);
    for (const limit of [2000, 1000, 100, 10, 3]) expect(thinTo(points, limit, RULES).length).toBeLessThanOrEqual(limit);
  });
});
