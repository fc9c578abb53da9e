import { spawn } from "node:child_process";
import { AppError } from "@boxyard/core";
import type { CliConfig } from "../config.ts";
import { type ServerRole, selfCommand } from "./self-command.ts";

/** Signals that are passed on to a server in the foreground. */
const FORWARDED = ["SIGTERM", "SIGHUP"] as const;

/** Where standard output and standard error of a role go: a `result` is what the user asked for, `quiet` progress is shown only when it failed. */
export type RoleOutput = "result" | "progress" | "quiet";
const STDIO: Readonly<Record<RoleOutput, ["ignore", StdioPart, StdioPart]>> = {
  result: ["ignore", "inherit", "inherit"],
  progress: ["ignore", 2, "inherit"],
  quiet: ["ignore", "pipe", "pipe"],
};
type StdioPart = "inherit" | "pipe" | 2;
/** How many characters of quiet progress are kept, from its end. */
const KEPT_CHARACTERS = 64 << 10;

/** Runs one of the server's roles in the foreground and resolves with its exit code. */
export function runRole(config: CliConfig, role: ServerRole, args: readonly string[], output: RoleOutput): Promise<number> {
  const [command, ...rest] = selfCommand(role, args);
  const child = spawn(command, rest, { stdio: STDIO[output], env: { ...config.env, BOXYARD_DATA: config.dataDir } });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-KEPT_CHARACTERS);
    });
  }
  // The terminal sends Ctrl-C to both processes; this one stays until the child has cleaned up.
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  return new Promise<number>((resolve, reject) => {
    child.once("error", (cause) => reject(new AppError("internal", `cannot start ${command}`, { reason: "spawn", cause })));
    // "close" comes after the end of its streams, so `said` is complete.
    child.once("close", (code, signal) => {
      if (code !== 0) process.stderr.write(said);
      resolve(code ?? (signal === "SIGINT" ? 130 : 128));
    });
  }).finally(() => {
    for (const signal of FORWARDED) process.off(signal, forward);
  });
}

/** Sets the machine up and prints the progress; with `quiet` only when it fails. Throws `failed_precondition`. */
export async function runSetup(config: CliConfig, args: readonly string[] = [], quiet = false): Promise<void> {
  const exitCode = await runRole(config, "setup", args, quiet ? "quiet" : "progress");
  if (exitCode === 0) return;
  const details = {
    hint: "The lines above say what is missing. `boxyard doctor` checks this machine again; `boxyard setup` continues from here.",
  };
  throw new AppError("failed_precondition", "set-up did not finish", { reason: "setup_failed", details });
}
