/** How a process ended, as the end event has it (docs/contract/agent.md, Processes). Clients read these texts. */
export interface EndStatus {
  /** Exit code, or -1 after a signal. */
  readonly exitCode: number;
  /** False after a signal. */
  readonly exited: boolean;
  /** `exit status N` or `signal: killed`. */
  readonly status: string;
  /** The same text, unless the exit code is 0; with a reason if one is known. */
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

/** From the status of wait(2). `reason` is added to the error of an unsuccessful end. */
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

/** True for an end that the kernel may have caused for lack of memory: SIGKILL, or the exit code by which a shell reports it. */
export function looksKilled(waitStatus: number): boolean {
  return (waitStatus & 0x7f) === SIGKILL || (waitStatus >> 8 === 128 + SIGKILL && (waitStatus & 0x7f) === 0);
}
