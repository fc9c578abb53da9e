import { AppError, systemClock } from "@boxyard/core";
import type { CliContext } from "../context.ts";
import { answers } from "./health.ts";
import { acquireLock } from "./lock.ts";
import { isOutdated } from "./outdated.ts";
import { runSetup } from "./roles.ts";
import { isAlive, readServerFile, readSupervisor, type ServerFile, serverLogPath } from "./server-file.ts";
import { makeDataDir, startDetached } from "./start.ts";
import { stopServer } from "./stop.ts";

/** Set-up on a slow machine takes minutes; another command waits that long for it. */
const LOCK_LIMIT_MS = 30 * 60_000;
const PROBE_LIMIT_MS = 5000;
/** How long a supervisor may take to bring a crashed server back. */
const RESTART_LIMIT_MS = 60_000;
const POLL_MS = 20;
/** The second one is for sources that changed during the first. */
const MAX_SET_UPS = 2;

const OUTDATED = "note: the server is of another version; `boxyard up -d` restarts it (sandboxes keep running)";

/** The running server, or undefined. Throws `unavailable` for a server that lives and does not answer: a second one must not be started. */
export async function findServer(dataDir: string): Promise<ServerFile | undefined> {
  const file = readServerFile(dataDir);
  if (!file || !isAlive(file)) return undefined;
  if (await answers(file.url, PROBE_LIMIT_MS)) return file;
  if (!isAlive(file)) return undefined;
  throw new AppError("unavailable", `the server (pid ${file.pid}) does not answer at ${file.url}`, {
    reason: "server_hangs",
    details: { hint: `Look at ${serverLogPath(dataDir)}; \`boxyard down\` and \`boxyard up -d\` start it again. Sandboxes survive that.` },
  });
}

/** The running server; when none runs, sets the machine up if need be and starts one in the background. */
export async function ensureServer(context: CliContext, args: readonly string[] = []): Promise<ServerFile> {
  const { config, output, signal } = context;
  const running = await findServer(config.dataDir);
  if (running) {
    // Only a person can act on the note; for programs the milliseconds of the check are saved.
    if (process.stderr.isTTY && isOutdated(config.dataDir)) output.note(output.dim(OUTDATED));
    return running;
  }
  makeDataDir(config);
  const onWait = () => output.note("another boxyard command is starting the server; waiting for it");
  const lock = await acquireLock(config.dataDir, { limitMs: LOCK_LIMIT_MS, onWait, signal });
  try {
    const started = (await findServer(config.dataDir)) ?? (await untilRestarted(config.dataDir, signal));
    if (started) return started;
    for (let setUps = 0; setUps <= MAX_SET_UPS; setUps++) {
      const file = await startDetached(config, args, signal);
      if (file) return file;
      if (setUps < MAX_SET_UPS) await runSetup(config, [], output.quiet);
    }
    throw new AppError("failed_precondition", "set-up has finished, and the server still reports that set-up is needed", {
      reason: "setup_failed",
      details: { hint: "`boxyard doctor` says what this machine lacks." },
    });
  } finally {
    lock.release();
  }
}

/** A server that has crashed is started again by its supervisor: a second start would conflict with that. */
async function untilRestarted(dataDir: string, signal: AbortSignal): Promise<ServerFile | undefined> {
  const deadline = systemClock.monotonic() + RESTART_LIMIT_MS;
  const supervisor = readSupervisor(dataDir);
  // Ends the supervisor's wait between two attempts.
  if (supervisor) process.kill(supervisor.pid, "SIGUSR1");
  while (readSupervisor(dataDir) && systemClock.monotonic() < deadline) {
    const file = await findServer(dataDir);
    if (file) return file;
    await systemClock.sleep(POLL_MS, signal);
  }
  if (!readSupervisor(dataDir)) return undefined;
  await stopServer(dataDir, signal);
  return undefined;
}
