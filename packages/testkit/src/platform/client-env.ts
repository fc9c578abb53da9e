import { AppError } from "@boxyard/core";
import { CHECKOUT } from "../config.ts";
import { runProgram } from "./child.ts";

/** What a shell has after `eval "$(boxyard env)"`, starting from nothing. */
export async function clientEnv(env: Readonly<Record<string, string | undefined>>): Promise<Record<string, string>> {
  const printed = await runProgram([process.execPath, "packages/cli/src/main.ts", "env"], { cwd: CHECKOUT, env });
  if (printed.exitCode !== 0) throw new AppError("internal", `boxyard env failed: ${printed.stderr}`, { reason: "boxyard_env" });
  const base = { PATH: env.PATH ?? "/usr/bin:/bin", HOME: env.HOME ?? "/root" };
  const shell = await runProgram(["/bin/sh", "-c", 'eval "$1" && /usr/bin/env -0', "sh", printed.stdout], { env: base });
  const pairs = shell.stdout.split("\0").filter((line) => line.includes("="));
  return Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}
