import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "@boxyard/core/node";

/** Threads and processes end while others look: `gone` then. */
function unlessGone<T>(look: () => T, gone: T): T {
  try {
    return look();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(errnoOf(error) ?? "")) return gone;
    throw error;
  }
}

/** What a file of `/proc/<pid>` holds; empty when the process is gone. */
export const ofProcess = (pid: number, file: string): string => unlessGone(() => readFileSync(`/proc/${pid}/${file}`, "utf8"), "");

/** The children that a process has now, as far as its threads tell: one look misses those of a thread that ends meanwhile. */
export function childrenOf(pid: number): number[] {
  const tasks = unlessGone(() => readdirSync(`/proc/${pid}/task`), []);
  return tasks.flatMap((task) => ofProcess(pid, `task/${task}/children`).split(" ").filter(Boolean).map(Number));
}
