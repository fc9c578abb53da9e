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

/**
 * `OMP_NUM_THREADS`: the processors that the sandbox may use at once, rounded up, at least 1; nothing where no limit is known. `nproc` of GNU prints
 * it, and OpenMP, OpenBLAS and what stands on them start so many threads. The kernel's own answer (`sched_getaffinity`) names all of the machine's.
 */
export function threadsEnvironment(cpuLimit: number | undefined): Record<string, string> {
  return cpuLimit === undefined ? {} : { OMP_NUM_THREADS: String(Math.max(1, Math.ceil(cpuLimit))) };
}

/** Throws `invalid_argument` for a name or a value that no environment can have. */
export function checkEnvironment(name: string, value: string): void {
  if (name === "" || name.includes("=") || name.includes("\0")) {
    throw new AppError("invalid_argument", `'${name.slice(0, 80)}' cannot be the name of an environment variable`, { reason: "bad_env" });
  }
  if (value.includes("\0"))
    throw new AppError("invalid_argument", `the value of ${name.slice(0, 80)} holds a NUL character`, { reason: "bad_env" });
}
