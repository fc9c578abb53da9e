import pino from "pino";
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
}

/** Lines for people on standard error. */
const textOnStderr = { write: (line: string): void => void process.stderr.write(`${logLineAsText(line.trimEnd())}\n`) };

export function createLogger(name: string, options: LoggerOptions = {}): Logger {
  const destination = options.format === "text" ? textOnStderr : pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true });
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
