import { homedir } from "node:os";
import { resolve } from "node:path";
import { AppError } from "@boxyard/core";

export interface CliConfig {
  /** `$BOXYARD_DATA`: the directory of the local server. */
  readonly dataDir: string;
  /** Where a local server listens, as `host:port`. */
  readonly listen: string;
  /** Set when the user chose a server; then no server is set up or started on this machine. */
  readonly apiUrl: string | undefined;
  readonly apiKey: string | undefined;
  /** False with `NO_COLOR`, or where the output is no terminal. */
  readonly color: boolean;
  readonly homeDir: string;
  /** What child processes inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the environment; the only place of this package that does. */
export function readConfig(env: Env = process.env): CliConfig {
  const apiUrl = env.BOXYARD_API_URL || undefined;
  if (apiUrl !== undefined && !/^https?:\/\/[^/]/.test(apiUrl)) {
    const message = `BOXYARD_API_URL must be a URL like http://127.0.0.1:3000, not '${apiUrl}'`;
    throw new AppError("invalid_argument", message, { reason: "bad_setting" });
  }
  return {
    dataDir: resolve(env.BOXYARD_DATA || "/var/lib/boxyard"),
    listen: env.BOXYARD_LISTEN || "127.0.0.1:3000",
    apiUrl: apiUrl?.replace(/\/+$/, ""),
    apiKey: env.BOXYARD_API_KEY || undefined,
    color: !env.NO_COLOR && env.TERM !== "dumb" && process.stderr.isTTY === true,
    homeDir: homedir(),
    env,
  };
}

/** URL of a local server that does not run, by the address where it would listen. */
export function urlOfListen(listen: string): string {
  const host = listen.replace(/^(0\.0\.0\.0|\[::\]|\*)(?=:)/, "127.0.0.1");
  return `http://${host}`;
}
