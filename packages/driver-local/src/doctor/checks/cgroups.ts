import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CONTROLLERS, DISK_CONTROLLER_V2, findHierarchies, type Hierarchies } from "../../cgroup/hierarchies.ts";
import { type Check, fail, ok } from "../types.ts";

const BOOT_FIX = "Boot with systemd.unified_cgroup_hierarchy=1 (cgroup v2), or mount cgroup2";

export const cgroupMode: Check = {
  name: "cgroups",
  look() {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8");
    if (!/ - cgroup2 /.test(mounts)) return fail("no cgroup v2 hierarchy is mounted", BOOT_FIX);
    return ok(describeHierarchies(findHierarchies()));
  },
};

/** One sentence: which cgroups are used for what, and why. */
export function describeHierarchies({ v1, unified }: Hierarchies): string {
  const limited = Object.keys(v1).join(", ");
  if (limited === "") return `v2 at ${unified}, for everything: it holds every controller that is needed`;
  return `hybrid: v2 at ${unified} to freeze, kill and count; limits of ${limited} in v1, because this machine holds these controllers there`;
}

export const controllers: Check = {
  name: "limits",
  look() {
    try {
      findHierarchies();
      return ok(`${CONTROLLERS.filter((name) => name !== "cpuacct").join(", ")} can be limited`);
    } catch (error) {
      return fail(error instanceof Error ? error.message : String(error), "Enable the controller in the kernel (or its command line)");
    }
  },
};

/** Only a hint: the option applies to the whole machine and cannot be undone before a reboot, so set-up turns it on only when asked. */
export const quickCgroups: Check = {
  name: "quick cgroups",
  look() {
    const line = readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .find((entry) => entry.includes(" - cgroup2 "));
    if (line?.split(" - ")[1]?.includes("favordynmods")) return ok("favordynmods is on");
    return ok("favordynmods is off; 'boxyard setup --tune' makes creates a few ms quicker (machine-wide, until the next boot)");
  },
};

/** Whether `BOXYARD_DISK_BANDWIDTH` has an effect here. */
export const diskBandwidth: Check = {
  name: "disk bandwidth",
  look() {
    const { unified, v1 } = findHierarchies(() => true);
    if (v1.blkio && existsSync(join(v1.blkio, "blkio.throttle.read_bps_device")))
      return ok("reads and direct writes can be limited by BOXYARD_DISK_BANDWIDTH (cgroup v1); cached writes cannot");
    if (readFileSync(join(unified, "cgroup.controllers"), "utf8").trim().split(/\s+/).includes(DISK_CONTROLLER_V2))
      return ok("reads and writes can be limited by BOXYARD_DISK_BANDWIDTH, where the kernel has io.max (CONFIG_BLK_DEV_THROTTLING)");
    return ok("cannot be limited: the kernel has no blkio or io controller, and BOXYARD_DISK_BANDWIDTH has no effect");
  },
};
