import { findHierarchies } from "../cgroup/hierarchies.ts";
import { runCommand } from "../sys/run.ts";
import type { SetupConfig } from "./types.ts";

/**
 * For `boxyard setup --tune`: remounts cgroup v2 with `favordynmods`, so that moving a process takes 0.02 ms instead of a grace period of about
 * 10 ms. This holds for the whole machine until the next boot and cannot be undone before; so only on request. Returns a line for the user.
 */
export async function tuneMachine(config: SetupConfig): Promise<string> {
  const { unified } = findHierarchies();
  // mount(8) keeps the options that are there.
  await runCommand(["mount", "-o", "remount,favordynmods", unified], { env: config.env, fix: "This needs kernel 6.0 or later" });
  return `${unified} is now mounted with favordynmods, until the next boot`;
}
