import { boundaries, generated, lint, sizes, types } from "./checks.ts";
import { kubernetes } from "./kubernetes.ts";
import { needs } from "./needs.ts";
import { leaks, platform, release } from "./platform.ts";
import { pureV2 } from "./pure-v2.ts";
import { agent, chaos, contract, e2e, hostile, root, soak, unit } from "./tests.ts";

/**
 * All suites of `./boxyard test`. The lines run at the same time, and the suites of a line one after another. Each suite begins when the suites that
 * it needs have ended. The files of root, agent, e2e, hostile and chaos share the lanes (`lib/lanes.ts`).
 */
export const lines = [
  [needs, platform, pureV2],
  [lint, types, boundaries, sizes, generated, contract, unit],
  [root],
  [agent],
  [e2e],
  [hostile],
  [chaos],
  [kubernetes],
  [soak],
  [release, leaks],
] as const;

/** All suites in one list. */
export const suites = lines.flat();
