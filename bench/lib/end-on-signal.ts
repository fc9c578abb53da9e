/** Signals that end a bench, with the exit codes that shells give them. */
const CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/** How long the bench may take to notice that its server has gone, and to remove its sandboxes. */
const END_MS = 60_000;

export interface SignalWatch {
  hasCome(): boolean;
  /** The exit code for a signal that has come, when the server has ended; undefined, at once, if none has come. */
  exitCode(): Promise<number | undefined>;
}

/**
 * From now on a signal stops the server, so that the bench fails and disposes of its platform: no create is under way then whose sandbox would stay.
 * The platform may still be starting: its start is awaited first. A second signal of the same kind ends this process at once.
 */
export function endOnSignal(platform: Promise<{ stop(): Promise<void> }>): SignalWatch {
  let code: number | undefined;
  let stopping: Promise<void> | undefined;
  for (const signal of Object.keys(CODES) as (keyof typeof CODES)[]) {
    process.once(signal, () => {
      if (code !== undefined) return;
      code = CODES[signal];
      console.error(`${signal}: ending the server of the bench`);
      setTimeout(() => process.exit(CODES[signal]), END_MS);
      stopping = platform
        .then((started) => started.stop())
        .catch((error: unknown) => console.error(error instanceof Error ? error.message : error));
    });
  }
  return {
    hasCome: () => code !== undefined,
    exitCode: async () => {
      await stopping;
      return code;
    },
  };
}
