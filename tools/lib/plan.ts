import type { Suite, Tally } from "./suite.ts";

/** A suite that runs test files, and can say which. */
type MaybeFiles = Suite & { files?(only: readonly string[]): string[] };

/**
 * Which suites a call runs, in the list's order: the named ones, those that hold a named file, what these need, and, when any of them
 * touches the machine, the ones that always clean up and look for leaks.
 */
export function plan(all: readonly MaybeFiles[], names: readonly string[], only: readonly string[]): Suite[] {
  if (names.length === 0 && only.length === 0) return [...all];
  const chosen = new Set(names);
  if (only.length > 0) for (const suite of all) if (suite.files && suite.files(only).length > 0) chosen.add(suite.name);
  for (const suite of [...all].reverse()) if (chosen.has(suite.name)) for (const need of suite.needs ?? []) chosen.add(need);
  const touchesMachine = chosen.has("platform");
  return all.filter((suite) => chosen.has(suite.name) || (suite.always === true && touchesMachine));
}

/**
 * Runs the suites of each line one after another, and the lines at the same time. A suite that needs others waits for them too; what runs
 * `always` follows all others, in the order of its own. `run` is told which suites that this one needs have failed, and never rejects.
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
