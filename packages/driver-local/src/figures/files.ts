import { join } from "node:path";
import { GUEST_DIRECTORY, ROOT_MOUNT } from "../rootfs/mounts.ts";

/** Files of the kernel that a sandbox sees its own version of, and the names of these among its host facts. */
const FIGURES = {
  meminfo: "/proc/meminfo",
  cpuinfo: "/proc/cpuinfo",
  online: "/sys/devices/system/cpu/online",
} as const;
export type Figure = keyof typeof FIGURES;

/** Mounts of the runtime's configuration. Their source is where the host facts are while the runtime works: the sandbox's root may not walk to the data directory. */
export const figureMounts = (shown: readonly Figure[]) =>
  shown.map((name) => ({
    destination: FIGURES[name],
    type: "bind",
    source: join(ROOT_MOUNT, GUEST_DIRECTORY, "host", name),
    options: ["bind", "ro", "nosuid", "nodev", "noexec"],
  }));

/** The name of what is mounted at `target`, if it is one of these. */
export const figureAt = (target: string): Figure | undefined => (Object.keys(FIGURES) as Figure[]).find((name) => FIGURES[name] === target);
