/** Every bound of the file operations. Sizes in bytes, durations in milliseconds. */
export const LIMITS = {
  /** PATH_MAX of Linux, with the NUL. */
  pathBytes: 4096,
  /** Symbolic links followed for one path, as the kernel does. */
  symlinks: 40,
  /** An upload without data for so long ends with an error (docs/contract/agent.md, Files). */
  uploadIdleMs: 640_000,
  /** File parts in one multipart body. Each staged part costs a few hundred bytes until the end of the request. */
  uploadParts: 10_000,
  /** Header block of one part. */
  partHeaderBytes: 16 * 1024,
  /** Boundary of a multipart body, RFC 2046 section 5.1.1. */
  boundaryChars: 70,
  /** Extended attribute name after `user.e2b.`, and sum over 9 + key + value (docs/contract/agent.md, Files). */
  metadataKeyBytes: 246,
  metadataTotalBytes: 4096,
  /** JSON body of a composition. */
  composeBodyBytes: 16 * 1024 * 1024,
  /** Sources of one composition. Each is checked, opened and deleted by synchronous calls. */
  composeSources: 10_000,
  /** Bytes that the kernel copies in one call, before other requests run. */
  copySliceBytes: 8 * 1024 * 1024,
  /** Files and parts of files up to this size are read whole before the answer begins. Larger ones the kernel sends, and the connection ends. */
  wholeBytes: 256 * 1024,
  /** One read of a download that is not sent by the kernel itself. */
  readBytes: 256 * 1024,
  /** Ranges in one request; more are answered with the whole file. */
  ranges: 16,
  /** Archives of directories that are sent at once; each holds the names of the directories that it is in. */
  archives: 8,
  /** Entries in one ListDir answer. */
  listEntries: 250_000,
  /** Longest stretch of uninterrupted synchronous work. */
  sliceMs: 4,
  /** Levels of a tree that are open at once while it is removed; those above are closed, and opened again on the way back. */
  removeDepth: 64,
  /** Watches that exist at once, streams and polled ones together. */
  watchers: 256,
  /** Directories below one recursive watch. The kernel has a limit for all watches together. */
  watchedDirs: 100_000,
  /** A directory whose own size is at most this is read synchronously. */
  smallDirBytes: 32 * 1024,
  /** Memory of the events that wait for one client, and for all clients. Beyond it events are dropped and the watch reports a loss. */
  queuedEventBytes: 16 * 1024 * 1024,
  queuedEventBytesTotal: 64 * 1024 * 1024,
  /** Events that are sent to a client at once. */
  eventPieceBytes: 32 * 1024,
  /** Bytes of events that are read ahead, because the kernel's own queue is short. */
  readAheadBytes: 8 * 1024 * 1024,
  /** A watcher that its client does not poll for so long is removed. */
  unpolledWatcherMs: 30 * 60_000,
  /** For so long the kernel's event for a name that was found by reading a new directory is not reported again. */
  freshNamesMs: 5_000,
  /** Longest time between the two events of one rename. */
  renameHalfMs: 500,
  /** Longest time that a poll waits for the watch to read all earlier events. */
  catchUpMs: 2_000,
} as const;
