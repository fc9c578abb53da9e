/** Every bound of the agent that is not a file's (`files/`), in one place. Sizes are bytes, times milliseconds. */
export const LIMITS = {
  /** One RPC message, also each of a stream. Base64 makes it a third more than the input it carries. */
  messageBytes: 64 * 1024 * 1024,
  /** All bodies that are held whole, with the messages made of them, over all requests; beyond, a request waits, then it is refused. */
  bodiesBytes: 96 * 1024 * 1024,
  bodiesWaitMs: 10_000,
  bodiesCollectBytes: 16 * 1024 * 1024,
  /** So much of each body is not counted: small requests are served however many large ones there are. */
  bodyFreeBytes: 64 * 1024,
  /** A body, or a message that has begun, of which nothing comes for so long, or not all within the longer time, is given up. */
  bodyIdleMs: 60_000,
  bodyWholeMs: 600_000,
  /** Values in one JSON text, and how deep they may lie. One of few bytes is not even looked through. */
  jsonValues: 1_000_000,
  jsonDepth: 1_000,
  jsonUncheckedBytes: 256 * 1024,
  /** Body of `/init`: environment and CA bundle. */
  initBytes: 4 * 1024 * 1024,
  /** Output of a command without a terminal is looked for this long after its start, or at its end: most have ended by then. */
  unwatchedMs: 5,
  /** One data event: docs/contract/agent.md, Processes. */
  pipeChunkBytes: 32 * 1024,
  ptyChunkBytes: 16 * 1024,
  /** Memory that the output of one process may hold, for replay and for readers that lag. */
  outputLogBytes: 512 * 1024,
  /** That of all running ones, which share it evenly, each no less than the other number. */
  outputLogsBytes: 64 * 1024 * 1024,
  outputLogLeast: 64 * 1024,
  /** While its quickest reader lags by more than this, a process is not read from, so it waits in its own write. */
  readerLagBytes: 256 * 1024,
  /** A reader that holds the process up so long without taking anything is let go. */
  readerStallMs: 30_000,
  /** So far a reader may lag behind a quicker one before it holds that one up; the log grows to it meanwhile. */
  readerBehindBytes: 4 * 1024 * 1024,
  /** The same over all running processes. */
  readersBehindBytes: 64 * 1024 * 1024,
  readerBehindLeast: 512 * 1024,
  /** A reader that has held quicker ones up for so long in all is let go. */
  readerHoldMs: 1_000,
  /** Input that waits for a process to read it; beyond, `SendInput` is refused. */
  pendingInputBytes: 64 * 1024 * 1024,
  /**
   * After the end of a process, while something else holds its output open: how long that must be silent before the end is told, and after
   * what time it is told however much the others still write. After a signal of ours the contract asks for an end at once.
   */
  drain: { quietMs: 250, maxMs: 2_000 },
  drainAfterSignal: { quietMs: 50, maxMs: 250 },
  /** Arguments and environments of all running commands, which are kept for List. */
  ordersBytes: 32 * 1024 * 1024,
  /** How long, how many and how much output of ended processes `Connect` still finds. */
  exitRetentionMs: 10 * 60_000,
  exitRetentionCount: 256,
  exitRetentionBytes: 8 * 1024 * 1024,
  /** The number does not count before this age, so that ends are found for the contract's 30 s at any rate; but there are no more than so many. */
  exitKeptMs: 60_000,
  exitKeptCount: 16_384,
  /** Leftovers of ended commands are looked for in this rhythm while there are any. */
  cgroupSweepMs: 5_000,
  keepaliveDefaultMs: 90_000,
  keepaliveMinMs: 1_000,
  /** Lines that the agent keeps of its own log. */
  logLines: 256,
  logLineChars: 1_000,
} as const;
