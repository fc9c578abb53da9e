import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { close, hasErrno, pidfdOpen, pidfdSendSignal } from "../sys/libc.ts";

/** Stands in the environment of each CRIU that we start, and so of each process that CRIU makes: which server's it is, and which run. */
const MARK = "BOXYARD_CRIU";
const SIGNALS = { SIGKILL: 9, SIGCONT: 18 } as const;

/** A name for a run of CRIU that no other run has. `server`: the name of the server's cgroups, which no other server has. */
export const newRun = (server: string): string => `${server}.${randomUUID()}`;

/** For the environment of a run. */
export const markOf = (run: string): Readonly<Record<string, string>> => ({ [MARK]: run });

/**
 * Sends the signal to every process of a run. When CRIU is killed, the children that it had for a question to the kernel, and processes that
 * it was about to bring back, stay: each holds the pool's mount.
 */
export function signalRun(run: string, signal: keyof typeof SIGNALS): void {
  const server = run.slice(0, run.indexOf("."));
  for (const pid of processIds()) signalIf(pid, SIGNALS[signal], () => runOf(pid, server) === run);
}

/**
 * Ends what is left of runs of an earlier server: at once where CRIU itself has ended, after `limitMs` where it lives. That one finds its
 * server gone and undoes what it did, unless it hangs.
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

/** CRIU runs in a session of its own, and none of its children makes one before it is a sandbox's process. */
const leadsSession = (pid: number): boolean => new RegExp(`^NSsid:\\s+${pid}\\b`, "m").test(read(`/proc/${pid}/status`));

/**
 * The run that a process is of. Of the processes of sandboxes none is: they are ended by their cgroup, and what stands in their memory, which
 * the environment is read from, is what their programs make of it.
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

/** The descriptor first, then the question: so the signal goes to nobody else who has been given the number. */
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
