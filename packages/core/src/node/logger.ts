import pino from "pino";

/** The one logger: JSON lines on standard error, or to `file`. User environments, tokens and file contents are never logged. */
export type Logger = pino.Logger;

export interface LoggerOptions {
  /** `trace`, `debug`, `info` (default), `warn`, `error` or `silent`. */
  readonly level?: string;
  /** Where lines go; standard error by default. */
  readonly file?: string;
}

export function createLogger(name: string, options: LoggerOptions = {}): Logger {
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true });
  return pino(
    {
      name,
      level: options.level ?? "info",
      base: null,
      redact: ["*.accessToken", "*.apiKey", "*.envVars", "*.initKey", "*.password", "*.token"],
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  );
}

/** A logger that says nothing, for tests. */
export const silentLogger: Logger = pino({ level: "silent" });
