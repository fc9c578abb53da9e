import { AppError, systemClock } from "@boxyard/core";
import { isAlive, readServerFile, readSupervisor, type ServerFile } from "./server-file.ts";

const STOP_LIMIT_MS = 30_000;
const POLL_MS = 20;

/** Asks the server to end and waits for it. Undefined when none runs. */
export async function stopServer(dataDir: string, signal: AbortSignal): Promise<Pick<ServerFile, "pid"> | undefined> {
  // The supervisor first, since it would start another server. It ends its own server too.
  const supervisor = readSupervisor(dataDir);
  if (supervisor) await end(supervisor, "supervisor", signal);
  const file = readServerFile(dataDir);
  if (!file || !isAlive(file)) return supervisor?.server === undefined ? undefined : { pid: supervisor.server };
  await end(file, "server", signal);
  return file;
}

/** Sends SIGTERM and waits. */
async function end(file: Pick<ServerFile, "pid" | "startTimeTicks">, name: string, signal: AbortSignal): Promise<void> {
  try {
    process.kill(file.pid, "SIGTERM");
  } catch (cause) {
    if ((cause as { code?: unknown }).code === "ESRCH") return;
    const details = { hint: "It belongs to another user: use sudo." };
    throw new AppError("permission_denied", `cannot end the ${name} (pid ${file.pid})`, { reason: "stop_server", details, cause });
  }
  const deadline = systemClock.monotonic() + STOP_LIMIT_MS;
  while (isAlive(file)) {
    if (systemClock.monotonic() > deadline) {
      const message = `the ${name} (pid ${file.pid}) has not ended within ${STOP_LIMIT_MS / 1000} s`;
      const details = { hint: `\`kill -9 ${file.pid}\` ends it at once; sandboxes survive that too.` };
      throw new AppError("deadline_exceeded", message, { reason: "stop_server", details });
    }
    await systemClock.sleep(POLL_MS, signal);
  }
}
