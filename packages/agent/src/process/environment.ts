import { AppError } from "@boxyard/core";
import type { SystemUser } from "../contracts.ts";

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The whole environment of a process: PATH and the user's variables, then those of `/init`, then those of the request; later ones override. The
 * agent's own environment is not inherited. Throws `invalid_argument` for names and values that no environment can have.
 */
export function composeEnvironment(
  user: Pick<SystemUser, "name" | "home">,
  sandbox: Readonly<Record<string, string>>,
  request: Readonly<Record<string, string>>,
): Record<string, string> {
  const env: Record<string, string> = Object.create(null);
  Object.assign(env, { PATH: DEFAULT_PATH, HOME: user.home, USER: user.name, LOGNAME: user.name });
  for (const [name, value] of Object.entries(sandbox)) env[name] = value;
  for (const [name, value] of Object.entries(request)) {
    checkEnvironment(name, value);
    env[name] = value;
  }
  return env;
}

/** Throws `invalid_argument` for a name or a value that no environment can have. */
export function checkEnvironment(name: string, value: string): void {
  if (name === "" || name.includes("=") || name.includes("\0")) {
    throw new AppError("invalid_argument", `'${name.slice(0, 80)}' cannot be the name of an environment variable`, { reason: "bad_env" });
  }
  if (value.includes("\0"))
    throw new AppError("invalid_argument", `the value of ${name.slice(0, 80)} holds a NUL character`, { reason: "bad_env" });
}
