import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { ListedSnapshot } from "../ports.ts";
import { type SnapshotQuery, SnapshotService, type SnapshotServiceParts } from "./snapshot-service.ts";

const TEAM = "team" as TeamId;

/** A service whose catalog lists these snapshots, which are called by the letter of their build. */
function serviceOf(created: Record<string, number>): SnapshotService {
  const listed = Object.entries(created).map(([buildId, createdAt]) => ({ id: buildId, buildId, createdAt }) as ListedSnapshot);
  const list = (teamId: TeamId, { name }: SnapshotQuery) =>
    teamId === TEAM ? listed.filter(({ id }) => name === undefined || id === name) : [];
  return new SnapshotService({ snapshotCatalog: { list } } as unknown as SnapshotServiceParts);
}

const namesOf = (snapshots: readonly ListedSnapshot[]) => snapshots.map(({ id }) => id).join("");

test("pages of snapshots join without a gap or a repetition, also where several have the same age", () => {
  const service = serviceOf({ a: 9, b: 5, c: 5, d: 5, e: 1 });
  for (const limit of [1, 2, 3, 4, 5, 6]) {
    let joined = "";
    let after: SnapshotQuery["after"];
    do {
      const { items, next } = service.list(TEAM, { limit, after });
      expect(items.length).toBe(Math.min(limit, 5 - joined.length));
      joined += namesOf(items);
      expect(next === undefined).toBe(joined.length === 5);
      after = next;
    } while (after);
    expect(joined).toBe("abcde");
  }
});

test("a page begins behind its position also when the snapshot there was deleted", () => {
  expect(namesOf(serviceOf({ a: 9, c: 5, d: 1 }).list(TEAM, { limit: 9, after: { at: 5, id: "b" } }).items)).toBe("cd");
});

test("team and filter reach the catalog", () => {
  const service = serviceOf({ a: 9, b: 5 });
  expect(service.list(TEAM, { limit: 9, name: "b" })).toEqual({ items: [expect.objectContaining({ id: "b" })], next: undefined });
  expect(service.list("other" as TeamId, { limit: 9 })).toEqual({ items: [], next: undefined });
});
