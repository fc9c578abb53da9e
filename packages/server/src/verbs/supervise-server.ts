import { EXIT_SETUP_NEEDED, executableBuild, PROGRAM } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { makeDataDir } from "../server-file.ts";
import { type Started, supervise } from "./supervise.ts";

/** Runs `supervise` for this data directory's server until SIGTERM or SIGINT. SIGUSR1 ends a wait between two tries. Returns the exit code. */
export async function superviseServer({ dataDir }: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  if (!(await machine.isSetUp())) return EXIT_SETUP_NEEDED;
  makeDataDir(dataDir);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  let hurry = () => {};
  process.on("SIGUSR1", () => hurry());
  return supervise({
    dataDir,
    // The options for orphans hold for the first start only.
    start: (isFirst) => startServer(isFirst ? args : []),
    stop: stop.signal,
    hurry: (onHurry) => {
      hurry = onHurry;
    },
  });
}

function startServer(args: readonly string[]): Started {
  // In a checkout: the file that this process was started from.
  const program = [process.execPath, executableBuild === undefined ? Bun.main : PROGRAM.server];
  const child = Bun.spawn([...program, "serve", ...args], { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  return { pid: child.pid, exited: child.exited, end: () => child.kill("SIGTERM") };
}
