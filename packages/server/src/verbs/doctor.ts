import { TimeLimit } from "@boxyard/core";
import type { FingerprintCheck } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import { DEGRADED } from "../http/app.ts";
import type { Machine } from "../machine.ts";
import { orphanCheck } from "../overview/orphan-check.ts";
import { readServerFile, readSupervisorFile } from "../server-file.ts";

const SIGNS: Readonly<Record<FingerprintCheck["status"], string>> = { ok: "ok  ", warn: "warn", fail: "FAIL" };

/** Prints the checks of machine, server and orphans. Returns exit code 1 when sandboxes cannot run. */
export async function doctor(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  const checks = [...(await machine.fingerprint()).checks, await runningServer(config.dataDir), orphanCheck(config, Date.now())];
  if (args.includes("--json")) console.log(JSON.stringify({ version: 1, checks }, null, 2));
  else {
    for (const { name, status, found, fix } of checks) {
      console.log(`${SIGNS[status]}  ${name}: ${found}`);
      if (fix) console.log(`      ${fix}`);
    }
  }
  return checks.some(({ status }) => status === "fail") ? 1 : 0;
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
