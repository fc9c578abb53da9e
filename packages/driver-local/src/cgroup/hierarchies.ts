import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { plainField } from "@boxyard/core/mountinfo";

/** The controllers that the driver needs. `cpuacct` only counts; on v2 every cgroup counts without a controller. */
export const CONTROLLERS = ["memory", "cpu", "cpuacct", "pids"] as const;
export type Controller = (typeof CONTROLLERS)[number];
/** The controller of disk bandwidth, by its name in v1. Used only when the operator sets a bandwidth: each hierarchy makes a create slower. */
const DISK_CONTROLLER = "blkio";
/** Its name in v2. */
export const DISK_CONTROLLER_V2 = "io";

export interface Hierarchies {
  /** Where cgroup v2 is mounted: freezing, killing and counting processes always go through it. */
  readonly unified: string;
  /** Controllers that this machine still has in v1 hierarchies ("hybrid"); empty on pure v2. Two may share a path. */
  readonly v1: Readonly<Partial<Record<Controller | typeof DISK_CONTROLLER, string>>>;
}

/** Says whether the v1 hierarchy of `blkio` at this mount point is to be used. */
type WantsDisk = (mountPoint: string) => boolean;

/** Finds the hierarchies in the text of /proc/self/mountinfo (fields: proc(5)). `v2Controllers` is the root's cgroup.controllers. */
export function parseHierarchies(
  mountinfo: string,
  v2Controllers: (unified: string) => string,
  wantsDisk: WantsDisk = () => false,
): Hierarchies {
  let unified: string | undefined;
  const v1: Partial<Record<Controller | typeof DISK_CONTROLLER, string>> = {};
  for (const line of mountinfo.split("\n")) {
    const [left, right] = line.split(" - ");
    const path = plainField(left?.split(" ")[4] ?? "");
    const [type, , options] = right?.split(" ") ?? [];
    if (type === "cgroup2") unified ??= path;
    if (type !== "cgroup") continue;
    for (const option of options?.split(",") ?? []) {
      if (CONTROLLERS.includes(option as Controller)) v1[option as Controller] ??= path;
      if (option === DISK_CONTROLLER && wantsDisk(path)) v1[DISK_CONTROLLER] ??= path;
    }
  }
  if (!unified) {
    throw new AppError(
      "failed_precondition",
      "No cgroup v2 hierarchy is mounted; boot with systemd.unified_cgroup_hierarchy=1 or mount one",
      {
        reason: "cgroup2_missing",
      },
    );
  }
  const inV2 = v2Controllers(unified).trim().split(/\s+/);
  if (inV2.includes(DISK_CONTROLLER_V2)) delete v1[DISK_CONTROLLER];
  for (const name of CONTROLLERS) {
    if (inV2.includes(name)) delete v1[name];
    else if (!v1[name] && name !== "cpuacct") {
      throw new AppError(
        "failed_precondition",
        `The cgroup controller '${name}' is neither in cgroup v2 nor mounted as v1; enable it in the kernel`,
        {
          reason: "cgroup_controller_missing",
          details: { controller: name },
        },
      );
    }
  }
  return { unified, v1 };
}

export function findHierarchies(wantsDisk?: WantsDisk): Hierarchies {
  const v2Controllers = (unified: string) => readFileSync(join(unified, "cgroup.controllers"), "utf8");
  return parseHierarchies(readFileSync("/proc/self/mountinfo", "utf8"), v2Controllers, wantsDisk);
}

/** On a hybrid machine crun refuses to work while the v2 root lists any controller; this is the file it looks at. */
export function hybridControllersFile(hierarchies: Hierarchies): string | undefined {
  return Object.keys(hierarchies.v1).length > 0 ? join(hierarchies.unified, "cgroup.controllers") : undefined;
}

/** Every mount point that holds cgroups of ours, each once, v2 first. */
export function mountPoints(hierarchies: Hierarchies): readonly string[] {
  return [...new Set([hierarchies.unified, ...Object.values(hierarchies.v1)])];
}
