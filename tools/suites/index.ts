import { boundaries, generated, lint, sizes, types } from "./checks.ts";
import { needs } from "./needs.ts";
import { leaks, platform, release } from "./platform.ts";
import { pureV2 } from "./pure-v2.ts";
import { agent, chaos, contract, e2e, hostile, root, unit } from "./tests.ts";

/** Everything that `./boxyard test` runs, in this order: the guest takes longest, so what can run beside it follows it. */
export const suites = [
  needs,
  platform,
  pureV2,
  lint,
  types,
  boundaries,
  sizes,
  generated,
  unit,
  contract,
  root,
  agent,
  e2e,
  hostile,
  chaos,
  release,
  leaks,
] as const;
