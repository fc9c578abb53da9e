/** Numbers of the signals, by the words with which an agent names the one that ended a command. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  hangup: 1,
  interrupt: 2,
  quit: 3,
  "illegal instruction": 4,
  "trace/breakpoint trap": 5,
  aborted: 6,
  "bus error": 7,
  "floating point exception": 8,
  killed: 9,
  "user defined signal 1": 10,
  "segmentation fault": 11,
  "user defined signal 2": 12,
  "broken pipe": 13,
  "alarm clock": 14,
  terminated: 15,
  "cpu time limit exceeded": 24,
  "file size limit exceeded": 25,
};

/** The exit code that a shell would show for this end: the command's own, or 128 and the number of the signal. */
export function shellExitCode(end: { readonly exitCode: number; readonly status: string }): number {
  const name = /^signal: ([^(]+?)(?: \(.*\))?$/.exec(end.status)?.[1];
  if (name === undefined) return end.exitCode < 0 ? 255 : end.exitCode;
  return 128 + (SIGNAL_NUMBERS[name] ?? (Number(name.replace("signal ", "")) || 0));
}
