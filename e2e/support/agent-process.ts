import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";
import { ofProcess } from "./processes.ts";

/** Pid of a sandbox's agent in the machine's process namespace, and the cgroup of its commands. */
export function processesOf(platform: Platform, id: string): { agent: number; user: string } {
  const { instance } = JSON.parse(readFileSync(join(platform.dataDir, "instance.json"), "utf8")) as { instance: string };
  const tops = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map((at) => join(at, `boxyard-${instance}`, id));
  const top = tops.find((at) => existsSync(join(at, "cgroup.procs"))) as string;
  const groups = [top, ...readdirSync(top).map((name) => join(top, name))].filter((at) => existsSync(join(at, "cgroup.procs")));
  const pids = groups.flatMap((at) => readFileSync(join(at, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number));
  const agent = pids.find((pid) => ofProcess(pid, "cmdline").startsWith("/.boxyard/agent"));
  if (agent === undefined) throw new Error(`${id} has no agent`);
  return { agent, user: join(top, "user") };
}
