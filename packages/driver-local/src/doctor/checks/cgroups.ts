import { readFileSync } from "node:fs";
import { CONTROLLERS, findHierarchies } from "../../cgroup/hierarchies.ts";
import { type Check, fail, ok } from "../types.ts";

const BOOT_FIX = "Boot with systemd.unified_cgroup_hierarchy=1 (cgroup v2), or mount cgroup2";

export const cgroupMode: Check = {
  name: "cgroups",
  look() {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8");
    if (!/ - cgroup2 /.test(mounts)) return fail("no cgroup v2 hierarchy is mounted", BOOT_FIX);
    const { v1, unified } = findHierarchies();
    if (Object.keys(v1).length === 0) return ok(`v2 at ${unified}`);
    return ok(`hybrid: v2 at ${unified}, ${Object.keys(v1).join(", ")} still in v1`);
  },
};

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

/** Only a hint: the option holds for the whole machine and can't be taken back before a reboot, so nobody turns it on unasked. */
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
