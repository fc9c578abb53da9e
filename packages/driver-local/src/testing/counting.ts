/**
 * Shell text that counts from `from` on, a line for each number, until it is ended. Lines are appended at once, so that a reader sees whole
 * numbers, and each takes the start of one process alone.
 */
export const countInto = (file: string, from = "0") => `n=${from}; while n=$((n+1)); do echo $n >> ${file}; sleep 0.05; done`;

/** Shell text that prints the number that was counted last. */
export const lastCount = (file: string) => `tail -n 1 ${file}`;
