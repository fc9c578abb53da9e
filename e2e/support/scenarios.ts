import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "@boxyard/testkit";

const DIRECTORY = join(CHECKOUT, "e2e/clients/js");

/** What every JavaScript client is walked through, by name. */
export const SCENARIOS: readonly string[] = readdirSync(join(DIRECTORY, "scenarios"))
  .map((file) => file.replace(/\.mjs$/, ""))
  .sort();

/** Arguments for a JavaScript runtime that run one scenario with one client, which is a package's name or a module's path. */
export function scenarioProgram(client: string, scenario: string): string[] {
  return [join(DIRECTORY, "run.mjs"), client, scenario];
}
