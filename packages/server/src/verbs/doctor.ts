import { TimeLimit } from "@boxyard/core";
import type { FingerprintCheck } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import type { QuarantineCause } from "../event-log.ts";
import { DEGRADED } from "../http/app.ts";
import type { Machine } from "../machine.ts";
import { readOrphans } from "../sandboxes/upkeep/quarantine.ts";
import { readServerFile, readSupervisorFile } from "../server-file.ts";

const SIGNS: Readonly<Record<FingerprintCheck["status"], string>> = { ok: "ok  ", warn: "warn", fail: "FAIL" };

/** Prints the checks of machine, server and orphans. Returns exit code 1 when sandboxes cannot run. */
export async function doctor(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  const checks = [...(await machine.fingerprint()).checks, await runningServer(config.dataDir), orphans(config, Date.now())];
  if (args.includes("--json")) console.log(JSON.stringify({ version: 1, checks }, null, 2));
  else {
    for (const { name, status, found, fix } of checks) {
      console.log(`${SIGNS[status]}  ${name}: ${found}`);
      if (fix) console.log(`      ${fix}`);
    }
  }
  return checks.some(({ status }) => status === "fail") ? 1 : 0;
}

/** The check for sandboxes in quarantine: unknown to the store, or damaged. `now`: milliseconds since 1970. */
export function orphans({ dataDir, orphanMinutes }: Pick<ServerConfig, "dataDir" | "orphanMinutes">, now: number): FingerprintCheck {
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

const ANSWER_MS = 5000;

/** The check of the data directory's server: whether it answers, and whether it is degraded. */
export async function runningServer(dataDir: string): Promise<FingerprintCheck> {
  const name = "server";
  const file = readServerFile(dataDir);
  if (!file) return noServer(dataDir);
  using limit = new TimeLimit(ANSWER_MS);
  try {
    const response = await fetch(`${file.url}/health`, { signal: limit.signal });
    const text = (await response.text()).split("\n").slice(1).join(" ").trim();
    if (!response.headers.has(DEGRADED)) return { name, status: "ok", found: `It answers at ${file.url}` };
    const isLost = response.headers.get(DEGRADED) === "store_lost";
    const next = isLost ? "See above" : "It ends by itself when the store takes changes again: make room, or see to its disk";
    const fix = `Running sandboxes go on. ${next}`;
    return { name, status: "warn", found: text, fix };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const fix = "`boxyard down` and `boxyard up -d` start it again; sandboxes survive that";
    return { name, status: "warn", found: `It does not answer at ${file.url}: ${said}`, fix };
  }
}

function noServer(dataDir: string): FingerprintCheck {
  const name = "server";
  const { gaveUp } = readSupervisorFile(dataDir) ?? {};
  if (!gaveUp) return { name, status: "ok", found: "None is running" };
  const found = `It failed at once three times and is not started again since ${new Date(gaveUp.at).toISOString()}: ${gaveUp.reason}`;
  return {
    name,
    status: "warn",
    found,
    fix: `Correct that, then \`boxyard up -d\`; ${dataDir}/server.log has more. Sandboxes keep running`,
  };
}
