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
 * Runs the suites in their order, each when those before it have ended, except what may go on beside it. `run` is told which suites
 * that this one needs have failed, and never rejects.
 */
export async function inOrder(
  suites: readonly Suite[],
  run: (suite: Suite, broken: readonly string[]) => Promise<Tally>,
): Promise<Map<string, Tally>> {
  const tallies = new Map<string, Tally>();
  let going: { readonly suite: Suite; readonly end: Promise<unknown> }[] = [];
  for (const suite of suites) {
    const before = going.filter((other) => !other.suite.beside?.includes(suite.name));
    await Promise.all(before.map(({ end }) => end));
    going = going.filter((other) => !before.includes(other));
    const broken = (suite.needs ?? []).filter((need) => (tallies.get(need)?.failed ?? 0) > 0);
    const end = run(suite, broken).then((tally) => tallies.set(suite.name, tally));
    if (suite.beside) going.push({ suite, end });
    else await end;
  }
  await Promise.all(going.map(({ end }) => end));
  return tallies;
}
