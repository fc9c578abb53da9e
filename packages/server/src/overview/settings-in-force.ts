import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS, type SettingName } from "@boxyard/spec/config";
import type { ServerSettings } from "@boxyard/spec/platform";
import type { ServerConfig } from "../config.ts";

/** What `boxyard service install` writes, and systemd gives to the server. */
const SERVICE_FILE = "service.env";

/** The settings of the server as they are in force, and where each value comes from. Of a secret, only whether it is set. */
export function settingsInForce(config: ServerConfig): ServerSettings {
  const file = join(config.dataDir, SERVICE_FILE);
  const inFile = variablesOf(file);
  const computed = computedOf(config);
  return {
    settings: SETTINGS.filter(({ usedBy }) => usedBy !== "client").map(({ name, form, default: byDefault, meaning }) => {
      const given = config.given[name];
      const isOfFile = given !== undefined && inFile.has(name);
      return {
        name,
        value: given ?? computed[name] ?? byDefault,
        origin: given === undefined ? "default" : isOfFile ? "file" : "environment",
        ...(isOfFile && { file }),
        form,
        default: byDefault,
        meaning,
      };
    }),
  };
}

/** The values of defaults that depend on the machine or on other settings. */
function computedOf({ dataDir, maxCreates, maxBuilds, teamLimits, databaseUrl }: ServerConfig): Partial<Record<SettingName, string>> {
  return {
    BOXYARD_DATA: dataDir,
    BOXYARD_MAX_CREATES: String(maxCreates),
    BOXYARD_MAX_BUILDS: String(maxBuilds),
    BOXYARD_TEAM_LIMITS: Object.entries(teamLimits)
      .map(([name, value]) => `${name}=${value}`)
      .join(","),
    ...(databaseUrl === undefined && { DATABASE_URL: join(dataDir, "boxyard.db") }),
  };
}

/** Names of the variables that a file of systemd's form sets; none for a file that is not there. */
function variablesOf(file: string): Set<string> {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    return new Set(lines.flatMap((line) => (line.includes("=") ? [line.slice(0, line.indexOf("=")).trim()] : [])));
  } catch {
    return new Set();
  }
}
