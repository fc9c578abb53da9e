import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { Triggers, type TriggersDeps } from "./triggers.ts";

const teams = Array.from({ length: 6 }, (_, i) => `team-${i}` as TeamId);
const [TEAM, OTHER] = teams as [TeamId, TeamId];
const never = new AbortController().signal;

/** Triggers of a registry that answers when the test calls `waiting[i]`. */
function slowImages(limitMs?: number) {
  const waiting: (() => void)[] = [];
  const triggers: TriggersDeps["images"]["triggers"] = (image) => new Promise((resolve) => waiting.push(() => resolve([`RUN ${image}`])));
  const deps = { templates: undefined as never, images: { triggers }, ...(limitMs && { limitMs }) };
  return { waiting, triggers: new Triggers(deps) };
}

test("four requests of a team run at once, its others wait, and more than 32 are refused; other teams are not affected", async () => {
  const { waiting, triggers } = slowImages();
  const ask = (team: TeamId, name: string, signal = never) => triggers.of(team, { fromImage: name }, signal);
  const first = Array.from({ length: 32 }, (_, i) => ask(TEAM, `image-${i}`));
  await eventually("the team's places are taken", () => waiting.length === 4);
  await expect(ask(TEAM, "one-more")).rejects.toMatchObject({ code: "resource_exhausted", reason: "too_many_triggers" });
  const others = ask(OTHER, "of-others");
  await eventually("another team is asked at once", () => waiting.length === 5);
  waiting[4]?.();
  expect(await others).toEqual(["RUN of-others"]);
  for (let i = 0; i < 33; i++) {
    await eventually("the next is asked", () => waiting.length > i);
    waiting[i]?.();
  }
  expect(await Promise.all(first)).toEqual(Array.from({ length: 32 }, (_, i) => [`RUN image-${i}`]));
  const again = ask(TEAM, "again");
  await eventually("places are free again", () => waiting.length === 34);
  waiting[33]?.();
  expect(await again).toEqual(["RUN again"]);
});

test("sixteen requests of all teams run at once, and a waiting client may go away", async () => {
  const { waiting, triggers } = slowImages();
  const all = teams.flatMap((team) => Array.from({ length: 4 }, (_, i) => triggers.of(team, { fromImage: `${team}-${i}` }, never)));
  await eventually("places are taken", () => waiting.length > 0);
  expect(waiting).toHaveLength(16);
  const givenUp = new AbortController();
  const gone = triggers.of(TEAM, { fromImage: "gone" }, givenUp.signal);
  givenUp.abort(new Error("the client has gone"));
  await expect(gone).rejects.toThrow("the client has gone");
  for (let i = 0; i < 24; i++) {
    await eventually("the next is asked", () => waiting.length > i);
    waiting[i]?.();
  }
  expect(await Promise.all(all)).toHaveLength(24);
});

test("the time limit of a request includes its wait for a place", async () => {
  const { waiting, triggers } = slowImages(500);
  const asked = Array.from({ length: 4 }, (_, i) => triggers.of(TEAM, { fromImage: `asked-${i}` }, never));
  // The registry of the first four does not answer, and the fake ignores the signal, so their places stay taken.
  expect(await triggers.of(TEAM, { fromImage: "waits" }, never)).toEqual([]);
  expect(waiting).toHaveLength(4);
  for (const answer of waiting) answer();
  expect(await Promise.all(asked)).toHaveLength(4);
});
