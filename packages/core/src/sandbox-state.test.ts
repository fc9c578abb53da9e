import { describe, expect, test } from "bun:test";
import { assertMove, canMove, MOVES, type SandboxState } from "./sandbox-state.ts";

const STATES = Object.keys(MOVES) as SandboxState[];
const moves = (from: SandboxState): readonly SandboxState[] => MOVES[from];

/** Every state that can be reached from one, itself included. */
function reached(start: SandboxState): Set<SandboxState> {
  const found = new Set([start]);
  for (const state of found) for (const next of moves(state)) found.add(next);
  return found;
}

describe("the table of moves", () => {
  test.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))("%s → %s is judged as the table says", (from, to) => {
    const isLegal = moves(from).includes(to);
    expect(canMove(from, to)).toBe(isLegal);
    if (isLegal) expect(() => assertMove(from, to)).not.toThrow();
    else
      expect(() => assertMove(from, to)).toThrow(
        expect.objectContaining({ code: "aborted", reason: "illegal_move", details: { from, to } }),
      );
  });

  test("is walked from creating to every state, and from every state to the end", () => {
    expect([...reached("creating")].sort()).toEqual([...STATES].sort());
    for (const state of STATES) expect([state, reached(state).has("dead")]).toEqual([state, true]);
    expect(moves("dead")).toEqual([]);
  });

  test("has one way into the end, and no way back from a removal", () => {
    expect(STATES.filter((state) => moves(state).includes("dead"))).toEqual(["killing"]);
    expect([...reached("killing")].sort()).toEqual(["dead", "killing"]);
  });

  test("lets an attempt to keep a sandbox lead back to where it was", () => {
    for (const [from, via] of [
      ["running", "pausing"],
      ["running", "snapshotting"],
      ["paused", "resuming"],
      ["running", "rollingBack"],
      ["paused", "rollingBack"],
      ["running", "rebooting"],
    ] as const) {
      expect([via, canMove(from, via), canMove(via, from)]).toEqual([via, true, true]);
    }
  });
});
