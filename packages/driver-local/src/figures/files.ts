import { join } from "node:path";
import { GUEST_DIRECTORY, ROOT_MOUNT } from "../rootfs/mounts.ts";

/** Files of the kernel of which a sandbox sees its own version, by the version's name in the directory of host facts. */
const FIGURES = {
  meminfo: "/proc/meminfo",
  cpuinfo: "/proc/cpuinfo",
  online: "/sys/devices/system/cpu/online",
} as const;
export type Figure = keyof typeof FIGURES;

/**
 * Mounts for the runtime's configuration. Their sources are below the root file system that the runtime takes over, because the sandbox's root
 * cannot reach the data directory.
 */
export const figureMounts = (shown: readonly Figure[]) =>
  shown.map((name) => ({
    destination: FIGURES[name],
    type: "bind",
    source: join(ROOT_MOUNT, GUEST_DIRECTORY, "host", name),
    options: ["bind", "ro", "nosuid", "nodev", "noexec"],
  }));

/** The kernel's identity of a boot, and the name of the sandbox's version of it. It is not in `figureMounts` (see `BootIdMount`). */
export const BOOT_ID = "boot_id";
export const BOOT_ID_PATH = "/proc/sys/kernel/random/boot_id";

/** The name of the file of the host facts that is mounted at `target`; undefined for any other target. */
export const factAt = (target: string): string | undefined => (target === BOOT_ID_PATH ? BOOT_ID : figureAt(target));

/** As `factAt`, for figures alone. */
export const figureAt = (target: string): Figure | undefined => (Object.keys(FIGURES) as Figure[]).find((name) => FIGURES[name] === target);
