import { readFileSync } from "node:fs";
import type { InstanceCgroups } from "../cgroup/instance.ts";

/** One line of /proc/<pid>/cgroup: `4:memory:/path`; several controllers of one hierarchy are separated by commas. */
const LINE = /^(\d+):([^:]*):(\/.*)$/;

/**
 * Options of CRIU that put restored processes into the cgroups at `path`, for processes that were dumped in other cgroups. CRIU moves processes in
 * every hierarchy, so hierarchies without cgroups of the driver are named as well, with their root.
 */
export function cgroupRootOptions(
  { hierarchies }: InstanceCgroups,
  path: string,
  own = readFileSync("/proc/self/cgroup", "utf8"),
): string[] {
  const ours = Object.keys(hierarchies.v1);
  const others = own.split("\n").flatMap((line) => {
    const [, id, text = ""] = LINE.exec(line) ?? [];
    const names = text.split(",");
    return id === undefined || id === "0" || names.some((name) => ours.includes(name)) ? [] : names;
  });
  return [path, ...others.map((name) => `${name}:/`)].flatMap((root) => ["--cgroup-root", root]);
}
