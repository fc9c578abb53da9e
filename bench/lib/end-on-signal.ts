/** Signals that end a bench, with the exit codes that shells give them. */
const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * From now on a signal ends what the bench has started, and then this process. The platform may still be starting: its start is awaited first. A second
 * signal of the same kind ends this process at once. Returns whether a signal has come.
 */
export function endOnSignal(platform: Promise<AsyncDisposable>): () => boolean {
  let hasCome = false;
  for (const signal of Object.keys(CODES) as (keyof typeof CODES)[]) {
    process.once(signal, async () => {
      if (hasCome) return;
      hasCome = true;
      console.error(`${signal}: ending the server of the bench`);
      await platform
        .then((started) => started[Symbol.asyncDispose]())
        .catch((error: unknown) => console.error(error instanceof Error ? error.message : error));
      process.exit(CODES[signal]);
    });
  }
  return () => hasCome;
}
