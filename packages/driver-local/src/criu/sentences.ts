/* Lines of CRIU's log about things in sandboxes that cannot be kept, and what each means. */
const SENTENCES: readonly (readonly [said: RegExp, means: (found: string) => string])[] = [
  [
    /fsnotify: .*Can't dump that handle/,
    () =>
      "a program in the sandbox watches (inotify) a file that is deleted, or one in /proc, /sys, /dev or /dev/shm, which cannot be found again; end the watch first",
  ],
  [
    /Can't lookup mount=\d+ for fd=\d+ path=(.*)/,
    (path) =>
      `a program in the sandbox has '${path}' open, which is in no file system of the sandbox (a POSIX message queue is such a file); close it first`,
  ],
  [
    /Can't read link of fd \d+: File name too long/,
    () =>
      "a program in the sandbox works in a directory whose path is longer than 4 KiB, or has a file there open; leave or close it first",
  ],
  [
    /netlink: The socket has data to read/,
    () => "a program in the sandbox has asked the kernel by a netlink socket and not read the answer; read it or close the socket first",
  ],
  [/OOM storing pipe/, () => "too many pipes of the sandbox have something in them that no program has read; read or close some first"],
  [/Unseizable non-zombie \d+ found/, () => "a process in the sandbox is traced by another (a debugger, strace); stop tracing it first"],
];

/** The same for a restore. The files of a sandbox's own disk are as the image needs them; those of a volume others may have changed. */
const OF_RESTORES: typeof SENTENCES = [
  [
    /Can't open file (.*) on restore: /,
    (path) =>
      `a program in the sandbox has '/${path}' of a volume open, which was removed or replaced since the pause: bring the file back, or resume without memory`,
  ],
  [
    /File (.*) has bad /,
    (path) =>
      `a program in the sandbox has '/${path}' of a volume open, which was replaced by another file since the pause: bring the file back, or resume without memory`,
  ],
];

/** A sentence for users about the first such line of a dump or a restore; undefined when there is none. */
export function sentenceFor(verb: "checkpoint" | "restore", errors: readonly string[]): string | undefined {
  for (const [said, means] of verb === "checkpoint" ? SENTENCES : OF_RESTORES) {
    for (const line of errors) {
      const match = said.exec(line);
      if (match) return means(match[1] ?? "");
    }
  }
  return undefined;
}
