/** Signals that end a bench, with the exit codes that shells give them. */
const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** How long the bench may take to notice that its server has gone, and to remove its sandboxes. */
const END_MS = 60_000;

/**
 * From now on a signal stops the server, so that the bench fails and disposes of its platform: no create is under way then whose sandbox would stay.
 * The platform may still be starting: its start is awaited first. A second signal of the same kind ends this process at once. Returns the exit code
 * for a signal that has come.
 */
export function endOnSignal(platform: Promise<{ stop(): Promise<void> }>): () => number | undefined {
  let code: number | undefined;
  for (const signal of Object.keys(CODES) as (keyof typeof CODES)[]) {
    process.once(signal, async () => {
      if (code !== undefined) return;
      code = CODES[signal];
      console.error(`${signal}: ending the server of the bench`);
      setTimeout(() => process.exit(CODES[signal]), END_MS);
      await platform
        .then((started) => started.stop())
        .catch((error: unknown) => console.error(error instanceof Error ? error.message : error));
    });
  }
  return () => code;
}
