import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { ReadGate } from "../../figures/read-gate.ts";
import { findProgram, runCommand } from "../../sys/run.ts";
import { type Check, fail, ok, warn } from "../types.ts";
import { isAtLeast, parseKernelVersion } from "./machine.ts";

export const userNamespaces: Check = {
  name: "user namespaces",
  look() {
    const file = "/proc/sys/user/max_user_namespaces";
    if (!existsSync("/proc/self/ns/user")) return fail("the kernel has none", "Use a kernel with CONFIG_USER_NS");
    const most = existsSync(file) ? Number(readFileSync(file, "utf8")) : 1;
    if (most > 0) return ok(`up to ${most}`);
    return fail("turned off", "sysctl -w user.max_user_namespaces=15000, and in /etc/sysctl.d to keep it");
  },
};

export const idmappedMounts: Check = {
  name: "idmapped mounts",
  look() {
    if (isAtLeast(parseKernelVersion(release()), [5, 19])) return ok("overlay on idmapped layers works from kernel 5.19 on");
    return fail("missing for overlay", "Use a kernel from 5.19 on");
  },
};

/** Whether the kernel knows a file system, or could load it. */
async function knowsFileSystem(name: string): Promise<boolean> {
  if (new RegExp(`\\s${name}$`, "m").test(readFileSync("/proc/filesystems", "utf8"))) return true;
  if (findProgram("modprobe") === undefined) return false;
  return runCommand(["modprobe", "--dry-run", "--quiet", name]).then(
    () => true,
    () => false,
  );
}

function fileSystem(name: string, config: string): Check {
  return {
    name,
    async look() {
      if (await knowsFileSystem(name)) return ok("the kernel has it");
      return fail("the kernel lacks it", `Use a kernel with ${config} (on Debian the ordinary linux-image-${archOfPackages()} has it)`);
    },
  };
}

const archOfPackages = (): string => (process.arch === "arm64" ? "arm64" : "amd64");

export const overlay: Check = fileSystem("overlay", "CONFIG_OVERLAY_FS");
export const btrfs: Check = fileSystem("btrfs", "CONFIG_BTRFS_FS");

export const loopDevices: Check = {
  name: "loop devices",
  look() {
    if (existsSync("/dev/loop-control")) return ok("there");
    return fail("/dev/loop-control is missing", "modprobe loop; in a container, pass the device through");
  },
};

export const ownFigures: Check = {
  name: "memory inside",
  look() {
    const gate = ReadGate.open();
    gate?.close();
    if (gate) return ok("free and top in a sandbox show its own memory");
    return warn(
      "free and top in a sandbox show the machine's memory",
      "Use a kernel with CONFIG_FANOTIFY_ACCESS_PERMISSIONS, and run the server with CAP_SYS_ADMIN outside of any user namespace",
    );
  },
};
