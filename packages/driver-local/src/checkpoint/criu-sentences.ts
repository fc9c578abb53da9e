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
  [/Unseizable non-zombie \d+ found/, () => "a process in the sandbox is traced by another (a debugger, strace); stop tracing it first"],
];

/** A sentence for users about the first such line; undefined when there is none. */
export function sentenceFor(errors: readonly string[]): string | undefined {
  for (const [said, means] of SENTENCES) {
    for (const line of errors) {
      const match = said.exec(line);
      if (match) return means(match[1] ?? "");
    }
  }
  return undefined;
}
