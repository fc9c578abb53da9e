import type { FingerprintCheck } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import type { QuarantineCause } from "../event-log.ts";
import { readOrphans } from "../sandboxes/upkeep/quarantine.ts";

/** The check for sandboxes in quarantine: unknown to the store, or damaged. `now`: milliseconds since 1970. */
export function orphanCheck({ dataDir, orphanMinutes }: Pick<ServerConfig, "dataDir" | "orphanMinutes">, now: number): FingerprintCheck {
  const found = readOrphans(dataDir);
  if (found.length === 0) return { name: "orphans", status: "ok", found: "The store knows every sandbox" };
  const minutesLeft = (since: number) => Math.max(0, Math.ceil((since + orphanMinutes * 60_000 - now) / 60_000));
  const list = (cause: QuarantineCause) =>
    found.flatMap((orphan) => (orphan.cause === cause ? [`${orphan.id} (removed in ${minutesLeft(orphan.since)} min)`] : []));
  const [unknown, damaged] = [list("unknown"), list("damaged")];
  return {
    name: "orphans",
    status: "warn",
    found: [
      ...(unknown.length > 0 ? [`frozen, because the store does not know them: ${unknown.join(", ")}`] : []),
      ...(damaged.length > 0
        ? [`frozen, because their state.json and its copy, or the files of a pause, are damaged: ${damaged.join(", ")}`]
        : []),
    ].join("; "),
    fix: [
      ...(unknown.length > 0
        ? ["`boxyard down`, then `boxyard up -d --adopt-orphans` keeps the unknown ones, `boxyard up -d --remove-orphans` ends them"]
        : []),
      ...(damaged.length > 0
        ? [
            `Put the damaged files of ${dataDir}/sandboxes/ID back (state.json, or those of a pause); else these sandboxes are removed when their time is over`,
          ]
        : []),
    ].join("; "),
  };
}
