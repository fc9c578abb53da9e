import { hasSuite, type Tier } from "../suites/tiers.ts";
import type { Suite, Tally } from "./suite.ts";

/** A suite that runs test files, and can list them. */
type MaybeFiles = Suite & { files?(only: readonly string[]): string[] };

/**
 * The suites that a call runs, in the order of the list: those of the tier; or the named suites, the suites that have a named file, and the suites that these need. If
 * one of them changes the machine, the suites that clean up and look for leaks run too.
 */
export function plan(all: readonly MaybeFiles[], names: readonly string[], only: readonly string[], tier: Tier = "all"): Suite[] {
  if (names.length === 0 && only.length === 0) return all.filter(({ name }) => hasSuite(tier, name));
  const chosen = new Set(names);
  if (only.length > 0) for (const suite of all) if (suite.files && suite.files(only).length > 0) chosen.add(suite.name);
  for (const suite of [...all].reverse()) if (chosen.has(suite.name)) for (const need of suite.needs ?? []) chosen.add(need);
  const touchesMachine = chosen.has("platform");
  return all.filter((suite) => chosen.has(suite.name) || (suite.always === true && touchesMachine));
}

/**
 * Runs the lines at the same time, and the suites of a line one after another. A suite also waits for the suites that it needs. Suites with
 * `always` run after all others, in the order of the list. `run` gets the needed suites that have failed, and never rejects.
 */
export async function inLines(
  lines: readonly (readonly Suite[])[],
  run: (suite: Suite, broken: readonly string[]) => Promise<Tally>,
): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>();
  const all = lines.flat();
  const ends = new Map(all.map((suite) => [suite.name, Promise.withResolvers<void>()]));
  const one = async (suite: Suite) => {
    const needs = suite.needs ?? [];
    await Promise.all(needs.map((need) => ends.get(need)?.promise));
    const broken = needs.filter((need) => (tallies.get(need)?.failed ?? 0) > 0);
    tallies.set(suite.name, await run(suite, broken));
    ends.get(suite.name)?.resolve();
  };
  const line = async (suites: readonly Suite[]) => {
    for (const suite of suites) await one(suite);
  };
  await Promise.all(lines.map((suites) => line(suites.filter(({ always }) => !always))));
  await line(all.filter(({ always }) => always));
  return tallies;
}
