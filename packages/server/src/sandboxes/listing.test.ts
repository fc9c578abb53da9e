import { describe, expect, test } from "bun:test";
import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";
import type { SandboxRecord } from "../store/index.ts";
import { newBuildRecord, newRecord } from "./create/new-record.ts";
import { LivingSandboxes } from "./engine/living.ts";
import { Sandbox } from "./engine/sandbox.ts";
import type { SandboxQuery } from "./listing.ts";
import { SandboxService, type SandboxServiceParts } from "./service.ts";

const TEAM = "team" as TeamId;
const ALL = { states: new Set(["running", "paused"]), order: "asc" } as const satisfies SandboxQuery;
const idOf = (letter: string) => `i${letter.repeat(20)}` as SandboxId;
const image = { digest: "sha256:0", layers: [] };
const resources = { cpuCount: 1, memoryMB: 1, diskMB: 1 };
const spec = { image, env: {}, user: "user", workdir: "/", ...resources };

interface Given {
  readonly startedAt?: number;
  readonly state?: SandboxState;
  readonly metadata?: Record<string, string>;
  readonly templateId?: string;
  readonly teamId?: string;
}

/** Records are called by one letter. */
function recordOf(letter: string, { startedAt, state = "running", metadata = {}, templateId = "t1", teamId = TEAM }: Given): SandboxRecord {
  const template = { templateId: templateId as TemplateId, buildId: "b", name: "app", spec };
  const settings = { metadata, egress: { internetAccess: true }, allowPublicTraffic: true };
  const record = newRecord(idOf(letter), { teamId: teamId as TeamId, template, timeoutMs: 1, envVars: {}, settings }, 5);
  return { ...record, state, ...(startedAt !== undefined && { startedAt }) };
}

/** A service that lists and does nothing else: it has the sandboxes of `given` and of a build. */
function serviceOf(given: Record<string, Given>): SandboxService {
  const sandboxes = new LivingSandboxes();
  const limits = { cpuCount: 1, memoryBytes: 1, diskBytes: 1, maxProcesses: 1 };
  const ofBuild = newBuildRecord({ teamId: TEAM, templateId: "t1" as TemplateId, buildId: "b", image, resources: limits }, 1);
  const records = Object.entries(given).map(([letter, one]) => recordOf(letter, one));
  for (const record of [{ ...ofBuild, state: "running" as const }, ...records])
    sandboxes.add(new Sandbox(record, new FakeDriver(new FakeWorld()), true));
  const idsFor = (name: string) => new Set(name === "app" ? ["t1", "t2"] : []);
  return new SandboxService({ engine: { sandboxes }, templates: { idsFor } } as unknown as SandboxServiceParts);
}

/** The letters of the records of a page. */
function lettersOf(service: SandboxService, query: SandboxQuery): string {
  return service
    .list(TEAM, query)
    .items.map(({ id }) => id[1])
    .join("");
}

describe("the service's list of sandboxes", () => {
  test("is ordered by start, then by id; a sandbox without a start counts from its creation", () => {
    const service = serviceOf({ c: { startedAt: 1 }, a: { startedAt: 9 }, d: {}, b: { startedAt: 5 } });
    expect([lettersOf(service, ALL), lettersOf(service, { ...ALL, order: "desc" })]).toEqual(["cbda", "adbc"]);
  });

  test("has the states that clients see, of this team's users alone", () => {
    const states = ["creating", "running", "snapshotting", "pausing", "paused", "resuming", "failed", "killing"] as const;
    const given = Object.fromEntries(states.map((state, i): [string, Given] => ["abcdefgh"[i] ?? "", { state, startedAt: i }]));
    const service = serviceOf({ ...given, z: { startedAt: 9, teamId: "other" } });
    const shown = (...wanted: ("running" | "paused")[]) => lettersOf(service, { ...ALL, states: new Set(wanted) });
    expect([shown("running"), shown("paused"), shown("running", "paused"), shown()]).toEqual(["bc", "def", "bcdef", ""]);
  });

  test("matches metadata by each filter, under any key and with any value that a filter allows", () => {
    const service = serviceOf({ a: { metadata: { k: "1", l: "x" } }, b: { metadata: { k: "2" } }, c: { metadata: { "k%": "1" } }, d: {} });
    const matching = (...filters: [string[], string[]][]) =>
      lettersOf(service, { ...ALL, metadata: filters.map(([keys, values]) => ({ keys, values })) });
    expect(matching([["k"], ["1"]])).toBe("a");
    expect(matching([["k", "k%"], ["1"]])).toBe("ac");
    expect(matching([["k"], ["1", "2"]])).toBe("ab");
    expect(matching([["k"], ["1", "2"]], [["l"], ["x"]])).toBe("a");
    expect(matching([["absent"], [""]])).toBe("");
    expect(matching()).toBe("abcd");
  });

  test("has the sandboxes of a template, by each of its ids, and none of an unknown template", () => {
    const service = serviceOf({ a: { templateId: "t1" }, b: { templateId: "t2" }, c: { templateId: "t3" } });
    expect([lettersOf(service, { ...ALL, template: "app" }), lettersOf(service, { ...ALL, template: "unknown" })]).toEqual(["ab", ""]);
  });

  test("has what started at the earliest start or later", () => {
    const service = serviceOf({ a: { startedAt: 1 }, b: { startedAt: 2 }, c: { startedAt: 3 } });
    expect(lettersOf(service, { ...ALL, startedAfter: 2 })).toBe("bc");
  });

  test.each(["asc", "desc"] as const)("comes in pages that join without a gap or a repetition, in order %s", (order) => {
    const given = { a: { startedAt: 1 }, b: { startedAt: 1 }, c: { startedAt: 1 }, d: { startedAt: 2 }, e: { startedAt: 3 } };
    const service = serviceOf(given);
    const whole = lettersOf(service, { ...ALL, order });
    expect(whole).toBe(order === "asc" ? "abcde" : "edcba");
    for (const limit of [1, 2, 3, 4, 5]) {
      let joined = "";
      let after: SandboxQuery["after"];
      do {
        const query: SandboxQuery = { ...ALL, order, limit, after };
        const { items, next } = service.list(TEAM, query);
        expect(items.length).toBe(Math.min(limit, 5 - joined.length));
        joined += lettersOf(service, query);
        expect(next === undefined).toBe(joined.length === 5);
        after = next;
      } while (after);
      expect(joined).toBe(whole);
    }
  });

  test("goes on behind a position whose sandbox has ended", () => {
    const service = serviceOf({ a: { startedAt: 1 }, c: { startedAt: 2 } });
    const after = { at: 1, id: idOf("b") };
    expect([lettersOf(service, { ...ALL, after }), lettersOf(service, { ...ALL, order: "desc", after })]).toEqual(["c", "a"]);
  });

  test("counts what runs of all pages, not what is paused or does not match", () => {
    const service = serviceOf({
      a: { startedAt: 1 },
      b: { startedAt: 2, state: "snapshotting" },
      c: { state: "paused" },
      d: { templateId: "t3" },
    });
    const after = { at: 1, id: idOf("a") };
    expect(service.list(TEAM, { ...ALL, template: "app", limit: 1, after }).running).toBe(2);
  });
});
