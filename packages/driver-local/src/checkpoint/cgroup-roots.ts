import { readFileSync } from "node:fs";
import type { InstanceCgroups } from "../cgroup/instance.ts";

/** One line of /proc/<pid>/cgroup: `4:memory:/path`; several controllers of one hierarchy are separated by commas. */
const LINE = /^(\d+):([^:]*):(\/.*)$/;

/**
 * Options of CRIU that keep a sandbox's cgroups, and no others, in the images. On cgroup v1 its processes are at the root of every hierarchy without
 * cgroups of the driver: CRIU would write all that is below into the images, which is other programs' cgroups, and a restore would want them to be
 * there. `name`: of the server's cgroups. `lines`: /proc/<pid>/cgroup of a process of the sandbox.
 */
export function dumpedCgroupOptions(name: string, lines: string): string[] {
  return lines.split("\n").flatMap((line) => {
    const [, , controllers = "", path = ""] = LINE.exec(line) ?? [];
    return path.split("/").includes(name) ? ["--cgroup-dump-controller", controllers] : [];
  });
}

/**
 * Options of CRIU that put restored processes into the cgroups at `path`, for processes that were dumped in other cgroups. CRIU moves processes in
 * every hierarchy of the images. Images of earlier versions have hierarchies without cgroups of the driver too: these are named with their root.
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
