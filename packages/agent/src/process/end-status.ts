/** How a process ended, as the contract's end event tells it (docs/contract/agent.md, Processes; the texts are those of the reference, also for signals). */
export interface EndStatus {
  /** Exit code, or -1 after a signal. */
  readonly exitCode: number;
  /** False after a signal. */
  readonly exited: boolean;
  /** `exit status N` or `signal: killed`. */
  readonly status: string;
  /** The same text, unless it exited with 0; with a reason added where we know one. */
  readonly error?: string;
}

const SIGKILL = 9;

const SIGNAL_TEXTS: Readonly<Record<number, string>> = {
  1: "hangup",
  2: "interrupt",
  3: "quit",
  4: "illegal instruction",
  5: "trace/breakpoint trap",
  6: "aborted",
  7: "bus error",
  8: "floating point exception",
  9: "killed",
  10: "user defined signal 1",
  11: "segmentation fault",
  12: "user defined signal 2",
  13: "broken pipe",
  14: "alarm clock",
  15: "terminated",
};

/** From the raw number that wait() gives. `reason` is added to the error text of an unsuccessful end. */
export function endStatusOf(waitStatus: number, reason?: string): EndStatus {
  const signal = waitStatus & 0x7f;
  const added = reason === undefined ? "" : ` (${reason})`;
  if (signal !== 0) {
    const core = waitStatus & 0x80 ? " (core dumped)" : "";
    const status = `signal: ${SIGNAL_TEXTS[signal] ?? `signal ${signal}`}${core}`;
    return { exitCode: -1, exited: false, status, error: status + added };
  }
  const exitCode = (waitStatus >> 8) & 0xff;
  const status = `exit status ${exitCode}`;
  return exitCode === 0 ? { exitCode, exited: true, status } : { exitCode, exited: true, status, error: status + added };
}

/** True when this end may be the kernel's way to free memory: SIGKILL itself, or a shell's report of it. */
export function looksKilled(waitStatus: number): boolean {
  return (waitStatus & 0x7f) === SIGKILL || (waitStatus >> 8 === 128 + SIGKILL && (waitStatus & 0x7f) === 0);
}
