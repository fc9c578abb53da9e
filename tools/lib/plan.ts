import type { Suite } from "./suite.ts";

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
