import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { Triggers, type TriggersDeps } from "./triggers.ts";

const [TEAM, OTHER] = ["team-1" as TeamId, "team-2" as TeamId];
const never = new AbortController().signal;

/** Images of a registry that answers when the test says so. */
function slowImages() {
  const waiting: (() => void)[] = [];
  const triggers: TriggersDeps["images"]["triggers"] = (image) => new Promise((resolve) => waiting.push(() => resolve([`RUN ${image}`])));
  return { waiting, triggers: new Triggers({ templates: undefined as never, images: { triggers } }) };
}

test("sixteen registries are asked at once, further requests wait, and too many of one team are refused", async () => {
  const { waiting, triggers } = slowImages();
  const ask = (team: TeamId, name: string, signal = never) => triggers.of(team, { fromImage: name }, signal);
  const first = Array.from({ length: 32 }, (_, i) => ask(TEAM, `image-${i}`));
  await eventually("places are taken", () => waiting.length > 0);
  expect(waiting).toHaveLength(16);
  await expect(ask(TEAM, "one-more")).rejects.toMatchObject({ code: "resource_exhausted", reason: "too_many_triggers" });
  const others = ask(OTHER, "of-others");
  const givenUp = new AbortController();
  const gone = ask(OTHER, "gone", givenUp.signal);
  givenUp.abort(new Error("the client has gone"));
  await expect(gone).rejects.toThrow("the client has gone");
  expect(waiting).toHaveLength(16);
  for (let i = 0; i < 33; i++) {
    await eventually("the next is asked", () => waiting.length > i);
    waiting[i]?.();
  }
  expect(await Promise.all([...first, others])).toEqual([...Array.from({ length: 32 }, (_, i) => [`RUN image-${i}`]), ["RUN of-others"]]);
  const again = ask(TEAM, "again");
  await eventually("places are free again", () => waiting.length === 34);
  waiting[33]?.();
  expect(await again).toEqual(["RUN again"]);
});
