/** One file for each of these bytes, as the kernel's own default has it for the machine's memory. */
const BYTES_OF_FILE = 4_096;

/** Bytes that a file system in memory may take, and how many files it may have. */
export interface InMemorySize {
  readonly bytes: number;
  readonly files: number;
}

/**
 * The size of a file system in memory. The number of its files is limited for what is kept with them and charged to no cgroup: two access lists of
 * 128 bytes (`LARGEST_ACL_BYTES` of the seccomp policy), a sixteenth of `bytes`.
 */
export const inMemory = (bytes: number): InMemorySize => ({ bytes, files: Math.ceil(bytes / BYTES_OF_FILE) });

/** The size of `/dev/shm` in a sandbox that has so much memory. */
export const sharedMemoryOf = (memoryBytes: number): InMemorySize => inMemory(Math.floor(memoryBytes / 2));
