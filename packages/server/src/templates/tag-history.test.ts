import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { TagAssignment } from "../store/index.ts";
import { type TagGroupQuery, TagHistory, type TagHistoryDeps } from "./tag-history.ts";

const TEAM = "team" as TeamId;

/** A history of the template `app`; `given`: tags with the times of their assignments, newest first. */
function historyOf(given: Record<string, readonly number[]>): TagHistory {
  const all = Object.entries(given).flatMap(([tag, times]) =>
    times.map((assignedAt): TagAssignment => ({ tag, buildId: `${tag}${assignedAt}`, assignedAt, buildCreatedAt: 0 })),
  );
  const versions = Object.entries(given).map(([tag, [assignedAt]]) => ({ tag, buildId: `${tag}${assignedAt}`, assignedAt }));
  const deps = {
    templates: { findOwn: (teamId: TeamId, name: string) => ({ record: { id: `${teamId}/${name}`, name }, versions }) },
    store: { templates: { listAssignments: async (id: string) => (id === "team/app" ? all : []) } },
  };
  return new TagHistory(deps as unknown as TagHistoryDeps);
}

const tagsOf = async (history: TagHistory, query: Omit<TagGroupQuery, "limit">) =>
  (await history.groups(TEAM, "app", { ...query, limit: 10 })).groups.items.map(({ tag }) => tag);

test.each([
  ["latest_desc", ["v2", "default", "v1"]],
  ["latest_asc", ["default", "v1", "v2"]],
  ["name_asc", ["default", "v1", "v2"]],
  ["name_desc", ["v2", "v1", "default"]],
] as const)("tags in the order %s are %j", async (sort, tags) => {
  expect(await tagsOf(historyOf({ v1: [5, 1], v2: [9], default: [5, 4] }), { sort })).toEqual([...tags]);
});

test.each(["latest_desc", "latest_asc", "name_asc", "name_desc"] as const)(
  "pages of tags in the order %s go on behind a tag that was removed",
  async (sort) => {
    const given = { v1: [5, 1], v2: [9], default: [5, 4] };
    const whole = await tagsOf(historyOf(given), { sort });
    const { next } = (await historyOf(given).groups(TEAM, "app", { sort, limit: 2 })).groups;
    const { [whole[1] as keyof typeof given]: _, ...left } = given;
    expect(await tagsOf(historyOf(left), { sort, after: next })).toEqual(whole.slice(2));
  },
);

test("the present tags are listed newest first, with equal times by name, and are found by their stored names", () => {
  const history = historyOf({ v1: [5, 1], v2: [9], default: [5] });
  expect(history.current(TEAM, "app").map(({ tag }) => tag)).toEqual(["v2", "default", "v1"]);
  expect(history.lookUp(TEAM, "app", " V1")).toEqual({ tag: "v1", exists: true });
  expect(history.lookUp(TEAM, "app", "v3")).toEqual({ tag: "v3", exists: false });
  expect(() => history.lookUp(TEAM, "app", "a b")).toThrow("tag: 'a b' is not a tag");
});

test("tags are searched by a part, in any case", async () => {
  const history = historyOf({ v1: [1], "my-v2": [2], default: [3] });
  expect(await tagsOf(history, { sort: "name_asc", search: " V" })).toEqual(["my-v2", "v1"]);
  expect(await tagsOf(history, { sort: "name_asc", search: "x" })).toEqual([]);
});

test("a tag has its own assignments, newest first; a tag without any does not exist", async () => {
  const history = historyOf({ v1: [5, 1], v2: [9] });
  const { record, assignments } = await history.assignments(TEAM, "app", { tag: "V1", limit: 10 });
  expect([record.name, assignments.items.map(({ buildId }) => buildId)]).toEqual(["app", ["v15", "v11"]]);
  await expect(history.assignments(TEAM, "app", { tag: "v3", limit: 10 })).rejects.toMatchObject({
    code: "not_found",
    reason: "tag_not_found",
  });
  await expect(history.assignments(TEAM, "app", { tag: "a b", limit: 10 })).rejects.toMatchObject({ code: "invalid_argument" });
});
