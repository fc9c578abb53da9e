/** Every bound of the file operations in one place. Sizes in bytes, durations in milliseconds. */
export const LIMITS = {
  /** PATH_MAX of Linux with its NUL; longer paths fail in the kernel anyway. */
  pathBytes: 4096,
  /** Symbolic links followed for one path, as the kernel does. */
  symlinks: 40,
  /** An upload on which nothing arrives for so long is given up (docs/contract/agent.md, Files). */
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
  /** Sources of one composition. Each is looked at, opened and deleted by calls that nobody else is served during. */
  composeSources: 10_000,
  /** Bytes the kernel copies in one call before other requests get their turn. */
  copySliceBytes: 8 * 1024 * 1024,
  /** Files up to this size, and such parts of files, are read whole before the answer begins; beyond it, the kernel's way is worth a connection. */
  wholeBytes: 256 * 1024,
  /** One read of a download that is not sent by the kernel itself. */
  readBytes: 256 * 1024,
  /** Ranges in one request; more than this is treated as abuse and answered with the whole file. */
  ranges: 16,
  /** Entries in one ListDir answer. */
  listEntries: 250_000,
  /** Longest stretch of uninterrupted synchronous work. */
  sliceMs: 4,
  /** Of a tree that is removed so many levels are open at once; the ones above are closed and opened again on the way back. */
  removeDepth: 64,
  /** Watches that exist at once, streams and polled ones together. */
  watchers: 256,
  /** Directories below one recursive watch; the kernel has a limit of its own over all of them. */
  watchedDirs: 100_000,
  /** A directory whose own size is at most this is looked into without another thread. */
  smallDirBytes: 32 * 1024,
  /** What events that wait for one client may take, and those for all of them together. Beyond it the watch tells that it has lost some. */
  queuedEventBytes: 16 * 1024 * 1024,
  queuedEventBytesTotal: 64 * 1024 * 1024,
  /** Events that are sent to a client at once. */
  eventPieceBytes: 32 * 1024,
  /** What is read from the kernel, whose queue is short, before it is looked at. */
  readAheadBytes: 8 * 1024 * 1024,
  /** A polled watcher that nobody asks for so long is removed. */
  unpolledWatcherMs: 30 * 60_000,
  /** For so long a name found by looking into a new directory is not told again by the kernel's own event. */
  freshNamesMs: 5_000,
  /** How long the second half of a rename may take to come. */
  renameHalfMs: 500,
  /** Longest that a poll waits for the watch to have read what has happened. */
  catchUpMs: 2_000,
} as const;
