import { boundaries, generated, lint, sizes, types } from "./checks.ts";
import { needs } from "./needs.ts";
import { leaks, platform, release } from "./platform.ts";
import { pureV2 } from "./pure-v2.ts";
import { agent, contract, e2e, root, unit } from "./tests.ts";

/** Everything that `./boxyard test` runs, in this order: what is quick and says most comes first. */
export const suites = [
  needs,
  lint,
  types,
  boundaries,
  sizes,
  generated,
  unit,
  contract,
  platform,
  root,
  pureV2,
  agent,
  e2e,
  release,
  leaks,
] as const;
