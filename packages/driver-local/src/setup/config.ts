import { join, resolve } from "node:path";
import { AppError } from "@boxyard/core";
import { parseNetwork } from "../network/addresses.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import { RUNTIME_NAMES, type RuntimeName } from "../runtime/dialect.ts";
import { networkSharesOf } from "./network-shares.ts";
import { parseSize } from "./size.ts";
import type { SetupConfig } from "./types.ts";

const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The environment of programs of the system (apt, mmdebstrap, compilers): PATH has only the system's directories. Their scripts may fail with
 * other programs from a user's PATH, for example another Python.
 */
export function systemEnv(env: SetupConfig["env"]): SetupConfig["env"] {
  return { ...env, PATH: SYSTEM_PATH };
}

function runtimeName(text: string): RuntimeName {
  const name = RUNTIME_NAMES.find((known) => known === text);
  if (name) return name;
  throw new AppError("invalid_argument", `BOXYARD_RUNTIME='${text}' is none of ${RUNTIME_NAMES.join(", ")}`, { reason: "invalid_setting" });
}

function reserveOf(env: Readonly<Record<string, string | undefined>>): Reserve {
  const size = (name: string) => (env[name] ? parseSize(name, env[name]) : undefined);
  const memoryBytes = size("BOXYARD_RESERVE_MEMORY");
  const processes = size("BOXYARD_RESERVE_PROCESSES");
  const poolBytes = size("BOXYARD_RESERVE_POOL");
  const diskBytes = size("BOXYARD_RESERVE_DISK");
  const aheadBytes = size("BOXYARD_POOL_AHEAD");
  return {
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(processes !== undefined && { processes }),
    ...(poolBytes !== undefined && { poolBytes }),
    ...(diskBytes !== undefined && { diskBytes }),
    ...(aheadBytes !== undefined && { aheadBytes }),
  };
}

/** A whole number of at least 1,024, the usual limit of a process. */
function openFiles(text: string): number {
  if (/^\d{4,9}$/.test(text) && Number(text) >= 1024) return Number(text);
  throw new AppError("invalid_argument", `BOXYARD_MAX_OPEN_FILES='${text}' is not a number of at least 1024`, {
    reason: "invalid_setting",
  });
}

const LINGER = { seconds: 60, most: 300 } as const;

/** At most 300 s: an agent that is not resumed thaws its commands some time after a pause. A longer time would let them run before the resume. */
function lingerMs(text: string | undefined): number {
  if (text === undefined || text === "") return LINGER.seconds * 1000;
  if (/^\d{1,3}$/.test(text) && Number(text) <= LINGER.most) return Number(text) * 1000;
  throw new AppError("invalid_argument", `BOXYARD_WAKE_CACHE_SECONDS='${text}' is not a number from 0 to ${LINGER.most}`, {
    reason: "invalid_setting",
  });
}

const MOST_TRIALS = 16;

function trialsAtOnce(text: string | undefined): number {
  if (text === undefined || text === "") return 1;
  if (/^\d{1,2}$/.test(text) && Number(text) <= MOST_TRIALS) return Number(text);
  throw new AppError("invalid_argument", `BOXYARD_WAKE_CACHE_TRIALS='${text}' is not a number from 0 to ${MOST_TRIALS}`, {
    reason: "invalid_setting",
  });
}

function wakeCacheOf(env: Readonly<Record<string, string | undefined>>): SetupConfig["wakeCache"] {
  const { BOXYARD_WAKE_CACHE_MEMORY: budget, BOXYARD_WAKE_CACHE_SECONDS: seconds, BOXYARD_WAKE_CACHE_TRIALS: trials } = env;
  return {
    lingerMs: lingerMs(seconds),
    trialsAtOnce: trialsAtOnce(trials),
    ...(budget && { budgetBytes: parseSize("BOXYARD_WAKE_CACHE_MEMORY", budget) }),
  };
}

/** The settings of set-up from the environment. Throws `invalid_argument` and names the variable. */
export function readSetupConfig(env: Readonly<Record<string, string | undefined>> = process.env): SetupConfig {
  const dataDir = resolve(env.BOXYARD_DATA || "/var/lib/boxyard");
  if (env.BOXYARD_NETWORK) parseNetwork(env.BOXYARD_NETWORK);
  return {
    dataDir,
    cacheDir: env.BOXYARD_CACHE ? resolve(env.BOXYARD_CACHE) : join(dataDir, "cache"),
    ...(env.BOXYARD_NETWORK && { network: env.BOXYARD_NETWORK }),
    ...(env.BOXYARD_POOL_SIZE && { poolSizeBytes: parseSize("BOXYARD_POOL_SIZE", env.BOXYARD_POOL_SIZE) }),
    reserve: reserveOf(env),
    wakeCache: wakeCacheOf(env),
    networkShares: networkSharesOf(env),
    ...(env.BOXYARD_RESOLV_CONF && { resolvConf: resolve(env.BOXYARD_RESOLV_CONF) }),
    ...(env.BOXYARD_RUNTIME && { runtime: runtimeName(env.BOXYARD_RUNTIME) }),
    ...(env.BOXYARD_MAX_OPEN_FILES && { maxOpenFiles: openFiles(env.BOXYARD_MAX_OPEN_FILES) }),
    ...(env.BOXYARD_DISK_BANDWIDTH && { diskBandwidth: parseSize("BOXYARD_DISK_BANDWIDTH", env.BOXYARD_DISK_BANDWIDTH) }),
    // A shell of `su` may lack the directories of the administrator's programs. Messages are in English, so that users find them by a search.
    env: { ...env, PATH: [...(env.PATH ? [env.PATH] : []), SYSTEM_PATH].join(":"), LC_ALL: "C.UTF-8" },
  };
}
