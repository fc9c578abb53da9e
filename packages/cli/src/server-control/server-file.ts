import { readFileSync } from "node:fs";
import { join } from "node:path";
import { processStat } from "@boxyard/core/process-stat";

/** What a running server says about itself in `server.json`. */
export interface ServerFile {
  readonly pid: number;
  /** Start of the process in clock ticks since boot: a pid alone may have been given to another process since. */
  readonly startTimeTicks: number;
  readonly url: string;
  /** What the server was built from. */
  readonly build: string;
}

export const serverFilePath = (dataDir: string): string => join(dataDir, "server.json");
export const serverLogPath = (dataDir: string): string => join(dataDir, "server.log");

/** The file's content, or undefined when there is none or it makes no sense (it may be half written). */
export function readServerFile(dataDir: string): ServerFile | undefined {
  try {
    const value = JSON.parse(readFileSync(serverFilePath(dataDir), "utf8")) as Partial<Record<keyof ServerFile, unknown>> | null;
    if (!Number.isInteger(value?.pid) || typeof value?.url !== "string") return undefined;
    const { pid, startTimeTicks, url, build } = value;
    return { pid: pid as number, startTimeTicks: Number(startTimeTicks), url, build: typeof build === "string" ? build : "" };
  } catch {
    return undefined;
  }
}

/** True while the process that wrote the file lives. */
export function isAlive(file: Pick<ServerFile, "pid" | "startTimeTicks">): boolean {
  return processStat(file.pid)?.startTicks === file.startTimeTicks;
}

/** What `supervisor.json` says of the process that keeps a server in the background running. */
export interface SupervisorFile {
  readonly pid: number;
  readonly startTimeTicks: number;
  /** The server that it has started last. */
  readonly server?: number;
}

/** The supervisor of the data directory's server, if it lives. */
export function readSupervisor(dataDir: string): SupervisorFile | undefined {
  try {
    const file = JSON.parse(readFileSync(join(dataDir, "supervisor.json"), "utf8")) as SupervisorFile;
    return isAlive(file) ? file : undefined;
  } catch {
    return undefined;
  }
}
