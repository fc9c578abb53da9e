import type { Case } from "./bench.ts";
import { COMMAND_CASES } from "./cases/commands.ts";
import { FAILURE_CASES } from "./cases/failures.ts";
import { GIT_CASES } from "./cases/git.ts";
import { SANDBOX_CASES } from "./cases/sandboxes.ts";
import { SNAPSHOT_CASES } from "./cases/snapshots.ts";
import { UPLOAD_CASES } from "./cases/uploads.ts";

export { runCase } from "./bench.ts";

/** Everything that the package promises and a fake platform can show; run on Bun from the sources and on Node as published. */
export const CASES: readonly Case[] = [
  ...COMMAND_CASES,
  ...FAILURE_CASES,
  ...SANDBOX_CASES,
  ...SNAPSHOT_CASES,
  ...UPLOAD_CASES,
  ...GIT_CASES,
];
