import { spawn } from "node:child_process";
import { AppError } from "@boxyard/core";
import type { CliConfig } from "../config.ts";
import { type ServerRole, selfCommand } from "./self-command.ts";

/** Signals that are passed on to a server in the foreground. */
const FORWARDED = ["SIGTERM", "SIGHUP"] as const;

/**
 * Runs one of the server's roles in the foreground and resolves with its exit code. Its progress goes to our standard error; its standard
 * output too, unless it is what the user asked for.
 */
export function runRole(config: CliConfig, role: ServerRole, args: readonly string[], output: "result" | "progress"): Promise<number> {
  const [command, ...rest] = selfCommand(role, args);
  const child = spawn(command, rest, {
    stdio: ["ignore", output === "result" ? "inherit" : 2, "inherit"],
    env: { ...config.env, BOXYARD_DATA: config.dataDir },
  });
  // The terminal sends Ctrl-C to both of us; we stay until the child has put things in order.
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  return new Promise<number>((resolve, reject) => {
    child.once("error", (cause) => reject(new AppError("internal", `cannot start ${command}`, { reason: "spawn", cause })));
    child.once("exit", (code, signal) => resolve(code ?? (signal === "SIGINT" ? 130 : 128)));
  }).finally(() => {
    for (const signal of FORWARDED) process.off(signal, forward);
  });
}

/** Sets the machine up, telling the person what is done. */
export async function runSetup(config: CliConfig, args: readonly string[] = []): Promise<void> {
  const exitCode = await runRole(config, "setup", args, "progress");
  if (exitCode === 0) return;
  const details = {
    hint: "What is missing stands above. `boxyard doctor` looks at this machine again; `boxyard setup` goes on from here.",
  };
  throw new AppError("failed_precondition", "set-up did not finish", { reason: "setup_failed", details });
}
