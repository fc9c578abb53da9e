import { EXIT } from "./errors.ts";

export type InterruptSignal = keyof typeof CODES;

/** Ctrl-C and the like, for as long as the process lives. */
export interface Interrupt {
  /** Aborted by the first signal that no handler has taken over. */
  readonly signal: AbortSignal;
  /** Exit code of that signal, if one came. */
  exitCode(): number | undefined;
  /** From here on `handler` gets the signals, until the returned function is called: they are passed to a command in a sandbox, and do not end us. */
  takeOver(handler: (name: InterruptSignal) => void): () => void;
}

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: 129 } as const;

/** The first signal lets the command clean up; `onSecond` is called for each later one, to end at once. */
export function listenForInterrupt(onSecond: (exitCode: number) => void): Interrupt {
  const controller = new AbortController();
  let code: number | undefined;
  let taken: ((name: InterruptSignal) => void) | undefined;
  for (const name of Object.keys(CODES) as InterruptSignal[]) {
    process.on(name, () => {
      if (taken) return taken(name);
      if (code !== undefined) return onSecond(CODES[name]);
      code = CODES[name];
      controller.abort();
    });
  }
  return {
    signal: controller.signal,
    exitCode: () => code,
    takeOver: (handler) => {
      taken = handler;
      return () => {
        if (taken === handler) taken = undefined;
      };
    },
  };
}
