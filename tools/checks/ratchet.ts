import type { Source } from "./boundaries.ts";
import { isTestCode } from "./sleeps.ts";

/** What may only become less, and how often it occurs in the tests today. Each occurrence waits for a time, and not for a state. */
export const RATCHETS = [
  { what: "comments `Time alone`", form: /\/\/ Time alone: /g, most: 49 },
  { what: "calls of `staysTrueFor`", form: /\bstaysTrueFor\(/g, most: 16 },
] as const;

export interface Ratchet {
  readonly what: string;
  readonly form: RegExp;
  /** The number of occurrences today. */
  readonly most: number;
}

/** A line for each ratchet whose number is not that of the sources: a larger one is refused, and a smaller one is to be written down. */
export function checkRatchets(sources: readonly Source[], ratchets: readonly Ratchet[] = RATCHETS): string[] {
  const tests = sources.filter(({ path }) => isTestCode(path) && !path.startsWith("tools/checks/"));
  return ratchets.flatMap(({ what, form, most }) => {
    const found = tests.reduce((sum, { text }) => sum + [...text.matchAll(form)].length, 0);
    if (found > most)
      return [`${found} ${what} in the tests, and ${most} may be there: wait for a state (\`eventually\`), or let the clock be injected`];
    if (found < most) return [`only ${found} ${what} are left in the tests: write that number down in tools/checks/ratchet.ts`];
    return [];
  });
}
