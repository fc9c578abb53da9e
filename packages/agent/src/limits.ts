/** Every bound of the agent, except those of file operations (`files/limits.ts`). Sizes in bytes, durations in milliseconds. */
export const LIMITS = {
  /** One RPC message, also of a stream. Input is base64 in it, which is a third longer. */
  messageBytes: 64 * 1024 * 1024,
  /** All bodies that are held whole, with the messages made of them, over all requests. Beyond it a request waits for `bodiesWaitMs`, then it fails. */
  bodiesBytes: 96 * 1024 * 1024,
  bodiesWaitMs: 10_000,
  bodiesCollectBytes: 16 * 1024 * 1024,
  /** Bytes of each body that are not counted, so that large requests never make a small one fail. */
  bodyFreeBytes: 64 * 1024,
  /** A body or a message fails when no data arrives for the shorter time, or it is not complete within the longer one. */
  bodyIdleMs: 60_000,
  bodyWholeMs: 600_000,
  /** Values in one JSON text, and their depth; a text of up to `jsonUncheckedBytes` is not checked. */
  jsonValues: 1_000_000,
  jsonDepth: 1_000,
  jsonUncheckedBytes: 256 * 1024,
  /** Body of `/init`: environment and CA bundle. */
  initBytes: 4 * 1024 * 1024,
  /** Output of a command without a terminal is first read this long after its start, or at its end: most commands have ended by then. */
  unwatchedMs: 5,
  /** Output in one data event (docs/contract/agent.md, Processes). */
  pipeChunkBytes: 32 * 1024,
  ptyChunkBytes: 16 * 1024,
  /** Memory for the output of one process, for replay and for slow readers. */
  outputLogBytes: 512 * 1024,
  /** The same for all running processes, which share it evenly; each has at least `outputLogLeast`. */
  outputLogsBytes: 64 * 1024 * 1024,
  outputLogLeast: 64 * 1024,
  /** While its quickest reader is behind by more than this, a process is not read from, and blocks in its write. */
  readerLagBytes: 256 * 1024,
  /** A reader that blocks the process for so long without receiving anything is disconnected. */
  readerStallMs: 30_000,
  /** How far a reader may be behind a quicker one before that one has to wait; the log grows up to this size for it. */
  readerBehindBytes: 4 * 1024 * 1024,
  /** The same over all running processes. */
  readersBehindBytes: 64 * 1024 * 1024,
  readerBehindLeast: 512 * 1024,
  /** A reader for which quicker ones have waited so long in all is disconnected. */
  readerHoldMs: 1_000,
  /** Input that a process has not read yet; beyond it `SendInput` is refused. */
  pendingInputBytes: 64 * 1024 * 1024,
  /**
   * After the end of a process whose output other processes still hold open: how long they must write nothing before the end is reported, and
   * after what time it is reported in any case. After a signal by the client the contract requires the end at once.
   */
  drain: { quietMs: 250, maxMs: 2_000 },
  drainAfterSignal: { quietMs: 50, maxMs: 250 },
  /** Arguments and environments of all running commands together, which are kept for `List`. */
  ordersBytes: 32 * 1024 * 1024,
  /** Ended processes that `Connect` still finds: for how long, how many, and how much output. */
  exitRetentionMs: 10 * 60_000,
  exitRetentionCount: 256,
  exitRetentionBytes: 8 * 1024 * 1024,
  /** Processes that ended less than `exitKeptMs` ago do not count, since the contract keeps ends for 30 s; but there are at most `exitKeptCount`. */
  exitKeptMs: 60_000,
  exitKeptCount: 16_384,
  /** Entries of the journal that the server reads, their text, and how many of them one answer has. */
  journalEntries: 400,
  journalTextChars: 500,
  journalAnswer: 200,
  /** Interval of the attempts to remove cgroups that ended commands have left in use. */
  cgroupSweepMs: 5_000,
  keepaliveDefaultMs: 90_000,
  keepaliveMinMs: 1_000,
  /** Lines of the agent's own log, and their length. */
  logLines: 256,
  logLineChars: 1_000,
} as const;
