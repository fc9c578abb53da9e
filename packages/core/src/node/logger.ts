import pino from "pino";
import { LogDestination, type LogPlace } from "./log-destination.ts";
import { logLineAsText } from "./log-text.ts";

/** The one logger: lines on standard error, or to `file`. User environments, tokens and file contents are never logged. */
export type Logger = pino.Logger;

export interface LoggerOptions {
  /** `trace`, `debug`, `info` (default), `warn`, `error` or `silent`. */
  readonly level?: string;
  /** Where lines go; standard error by default. */
  readonly file?: string;
  /** `json` (default), or `text` for people who read along; `text` goes to standard error only. */
  readonly format?: "json" | "text";
  /** Keeps the file that standard error is, or `file`, within a size. */
  readonly rotation?: LogPlace["rotation"];
}

/** Lines for people on standard error. */
function textOnStderr({ rotation }: LoggerOptions): { write(line: string): void } {
  const lines = new LogDestination({ rotation });
  return {
    write: (line) =>
      lines.write(`${logLineAsText(line.trimEnd())}
`),
  };
}

export function createLogger(name: string, options: LoggerOptions = {}): Logger {
  const destination = options.format === "text" ? textOnStderr(options) : new LogDestination(options);
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

/** A logger that says nothing, for tests. Without a destination of its own, pino would open standard output, which takes 4 ms of each program's start. */
export const silentLogger: Logger = pino({ level: "silent" }, { write: () => {} });
