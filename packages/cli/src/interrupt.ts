import { EXIT } from "./errors.ts";

/** Ctrl-C and the like, for as long as the process lives. */
export interface Interrupt {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Exit code of the signal that came, if one did. */
  exitCode(): number | undefined;
}

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: 129 } as const;

/** The first signal lets the command put things in order; `onSecond` is called for the next ones, for those who can't wait. */
export function listenForInterrupt(onSecond: (exitCode: number) => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  for (const [name, exitCode] of Object.entries(CODES)) {
    process.on(name, () => {
      if (code !== undefined) return onSecond(exitCode);
      code = exitCode;
      controller.abort();
    });
  }
  return { signal: controller.signal, exitCode: () => code };
}
