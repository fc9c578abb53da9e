import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { close, hasErrno, pidfdOpen, pidfdSendSignal } from "../sys/libc.ts";

/** Variable in the environment of each CRIU that the driver starts, which the processes that CRIU makes inherit: names the server and the run. */
const MARK = "BOXYARD_CRIU";
const SIGNALS = { SIGKILL: 9, SIGCONT: 18 } as const;

/** A unique name for a run of CRIU. `server`: the name of the server's cgroups, which is unique too. */
export const newRun = (server: string): string => `${server}.${randomUUID()}`;

/** The variable for the environment of a run. */
export const markOf = (run: string): Readonly<Record<string, string>> => ({ [MARK]: run });

/**
 * Sends the signal to every process of a run. When CRIU is killed, its own children (which it makes to test features of the kernel) and processes that
 * it was restoring remain, and each keeps the pool's mount in use.
 */
export function signalRun(run: string, signal: keyof typeof SIGNALS): void {
  const server = run.slice(0, run.indexOf("."));
  for (const pid of processIds()) signalIf(pid, SIGNALS[signal], () => runOf(pid, server) === run);
}

/**
 * Ends what is left of runs of an earlier server: at once where CRIU itself has ended, after `limitMs` where it lives. A CRIU that lives notices
 * that its server is gone and undoes what it did, unless it hangs.
 */
export function endLeftRuns(server: string, limitMs: number): void {
  const pidsOf = new Map<string, number[]>();
  for (const pid of processIds()) {
    const run = runOf(pid, server);
    if (run !== undefined) pidsOf.set(run, [...(pidsOf.get(run) ?? []), pid]);
  }
  for (const [run, pids] of pidsOf) {
    if (pids.some(leadsSession)) {
      signalRun(run, "SIGCONT");
      setTimeout(() => signalRun(run, "SIGKILL"), limitMs).unref();
    } else signalRun(run, "SIGKILL");
  }
}

/** True for CRIU itself: it leads a session of its own, and none of its children makes a session before it is in a sandbox's cgroup. */
const leadsSession = (pid: number): boolean => new RegExp(`^NSsid:\\s+${pid}\\b`, "m").test(read(`/proc/${pid}/status`));

/**
 * The run that a process belongs to; undefined for none. Processes of sandboxes never count: they are ended through their cgroup, and their
 * environment is read from their memory, which their programs can change.
 */
function runOf(pid: number, server: string): string | undefined {
  const cgroups = read(`/proc/${pid}/cgroup`);
  if (cgroups === "" || cgroups.includes(`/${server}/`)) return undefined;
  const variable = read(`/proc/${pid}/environ`)
    .split("\0")
    .find((text) => text.startsWith(`${MARK}=${server}.`));
  return variable?.slice(MARK.length + 1);
}

const processIds = (): number[] => readdirSync("/proc").map(Number).filter(Number.isInteger);

/** Opens the pidfd first and checks then, so that the signal cannot reach another process that has got the same pid. */
function signalIf(pid: number, signal: number, isMeant: () => boolean): void {
  let pidfd: number;
  try {
    pidfd = pidfdOpen(pid);
  } catch (error) {
    // It has ended, or is a thread.
    if (hasErrno(error, "ESRCH", "EINVAL")) return;
    throw error;
  }
  try {
    if (isMeant()) pidfdSendSignal(pidfd, signal);
  } catch (error) {
    if (!hasErrno(error, "ESRCH")) throw error;
  } finally {
    close(pidfd);
  }
}

/** Empty for a process that has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
