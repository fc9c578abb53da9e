import { expect, test } from "bun:test";
import { MOVES, type SandboxId, type SandboxState, type TeamId } from "@boxyard/core";
import { FakeDriver } from "@boxyard/driver/fake";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import { sampleRecord } from "../../store/sample-record.ts";
import { dice } from "../../testing/dice.ts";
import { LivingSandboxes } from "./living.ts";
import { Sandbox } from "./sandbox.ts";

const TEAMS = ["one", "two", ""] as TeamId[];
const NODES = ["home", "far"] as const;
const OWNERS = [{ kind: "user" }, { kind: "build", id: "b" }, { kind: "pool" }] as const;
const SIZES = [0.1, 0.3, 1.5].map((cpuCount, at) => ({
  cpuCount,
  memoryBytes: 2 ** (28 + at),
  diskBytes: 2 ** (31 + at),
  maxProcesses: 100,
}));
const driver = new FakeDriver();

/** What looking at every sandbox finds. */
function walked(living: LivingSandboxes) {
  const users = living.all().filter(({ counted }) => counted.owner.kind === "user");
  const sum = (sandboxes: readonly Sandbox[], of: (limits: ReturnType<typeof resourcesOf>) => number) =>
    sandboxes.reduce((total, { counted }) => total + of(resourcesOf(counted)), 0);
  return {
    places: users.filter(({ hasPlace }) => hasPlace).length,
    ofTeam: (teamId: TeamId, but?: SandboxId) => {
      const own = users.filter(({ id, counted }) => counted.teamId === teamId && id !== but);
      const placed = own.filter(({ hasPlace }) => hasPlace);
      const cpus = Math.round(sum(placed, ({ cpuCount }) => cpuCount) * 10) / 10;
      const memoryBytes = sum(placed, (limits) => limits.memoryBytes);
      return { sandboxes: placed.length, cpus, memoryBytes, diskBytes: sum(own, ({ diskBytes }) => diskBytes) };
    },
    onNode: (node: string) => {
      const here = living.all().filter(({ counted }) => counted.owner.kind !== "pool" && (counted.facts.node ?? "home") === node);
      return { memoryBytes: sum(here, (limits) => limits.memoryBytes), diskBytes: sum(here, ({ diskBytes }) => diskBytes) };
    },
  };
}

test("after any changes the counts are what looking at every sandbox gives", () => {
  const next = dice(11);
  const any = <T>(among: readonly T[]) => among[next(among.length)] as T;
  const living = new LivingSandboxes();
  const recordOf = (id: SandboxId): SandboxRecord => {
    const sample = sampleRecord({ state: "creating" });
    const node = any([undefined, ...NODES]);
    return {
      ...sample,
      id,
      teamId: any(TEAMS),
      owner: any(OWNERS),
      facts: { ...sample.facts, resources: any(SIZES), ...(node && { node }) },
    };
  };
  const deeds: readonly ((sandbox: Sandbox) => void)[] = [
    (sandbox) => {
      const to = any([...MOVES[sandbox.state]] as SandboxState[]);
      if (to !== undefined) sandbox.change({ state: to });
    },
    (sandbox) => sandbox.change({ settings: { ...sandbox.record.settings, resources: any(SIZES) } }),
    (sandbox) => {
      sandbox.claim = any([undefined, { ...recordOf(sandbox.id), owner: OWNERS[0] }]);
    },
    (sandbox) => sandbox.change({ owner: OWNERS[0], teamId: any(TEAMS) } as object),
    (sandbox) => {
      sandbox.holders = any([0, 1, 2]);
    },
    (sandbox) => living.add(sandbox),
    (sandbox) => living.remove(sandbox.id),
  ];
  const ids = Array.from({ length: 30 }, (_, at) => `i${at}` as SandboxId);
  for (let round = 0; round < 5000; round++) {
    const id = any(ids);
    const sandbox = living.find(id);
    if (sandbox) any(deeds)(sandbox);
    else living.add(new Sandbox(recordOf(id), driver, false));
    if (round % 5 !== 0) continue;
    const wanted = walked(living);
    expect(living.counts.places).toBe(wanted.places);
    for (const team of TEAMS) {
      expect(living.counts.ofTeam(team)).toEqual(wanted.ofTeam(team));
      expect(living.counts.ofTeam(team, id)).toEqual(wanted.ofTeam(team, id));
    }
    for (const node of NODES) expect(living.counts.onNode(node)).toEqual(wanted.onNode(node));
  }
  for (const { id } of living.all()) living.remove(id);
  expect([living.counts.places, living.counts.onNode("home").memoryBytes, living.counts.ofTeam(TEAMS[0] as TeamId).cpus]).toEqual([
    0, 0, 0,
  ]);
});

test("a sandbox that ends late, after another of its id was added, takes nothing from what is counted", () => {
  const living = new LivingSandboxes();
  const first = new Sandbox(sampleRecord({ state: "running" }), driver, false);
  living.add(first);
  living.remove(first.id);
  living.add(new Sandbox(sampleRecord({ state: "running" }), driver, false));
  first.change({ state: "killing" });
  first.holders += 1;
  expect(living.counts.places).toBe(1);
});
