/* What CRIU's log says of things in sandboxes that cannot be kept, and what it means. */
const SENTENCES: readonly (readonly [said: RegExp, means: (found: string) => string])[] = [
  [
    /fsnotify: .*Can't dump that handle/,
    () =>
      "a program in it watches (inotify) a file that is deleted, or one in /proc, /sys, /dev or /dev/shm, which cannot be found again; end the watch first",
  ],
  [
    /Can't lookup mount=\d+ for fd=\d+ path=(.*)/,
    (path) =>
      `a program in it has '${path}' open, which is in no file system of the sandbox's (a POSIX message queue is such a file); close it first`,
  ],
  [/Unseizable non-zombie \d+ found/, () => "a process in it is traced by another (a debugger, strace); stop tracing it first"],
];

/** A sentence for people; undefined for what is not known. */
export function sentenceFor(errors: readonly string[]): string | undefined {
  for (const [said, means] of SENTENCES) {
    for (const line of errors) {
      const match = said.exec(line);
      if (match) return means(match[1] ?? "");
    }
  }
  return undefined;
}
