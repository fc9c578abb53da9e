/** A thread that waits for files holds so much of the kernel's memory, charged to no account (`poll` in the seccomp policy of the local driver). */
const WAIT_BYTES = 150 << 10;
/** The share of a sandbox's memory that it may hold so, beside its account. */
const SHARE = 1 / 8;
const LEAST = 128;

/** Most processes and threads of a sandbox of that size, `most` at most. */
export function mostProcesses(memoryBytes: number, most: number): number {
  return Math.max(LEAST, Math.min(most, Math.floor((memoryBytes * SHARE) / WAIT_BYTES)));
}
