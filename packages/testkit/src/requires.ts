import { existsSync, readFileSync } from "node:fs";

/** What a test may need of the machine; each is probed, never assumed. */
const PROBES = {
  root: () => process.getuid?.() === 0,
  "cgroup2.freeze": () => readFileSync("/proc/filesystems", "utf8").includes("cgroup2"),
  btrfs: () => readFileSync("/proc/filesystems", "utf8").includes("btrfs") || Bun.spawnSync(["modprobe", "btrfs"]).success,
  go: () => Bun.which("go") !== null || existsSync("/usr/local/go/bin/go"),
  keytool: () => Bun.which("keytool") !== null,
  kvm: () => Bun.file("/dev/kvm").size >= 0 && Bun.spawnSync(["test", "-w", "/dev/kvm"]).success,
} as const satisfies Record<string, () => boolean>;

export type Capability = keyof typeof PROBES;

/**
 * True when the machine lacks one of `capabilities`; for `test.skipIf(lacks("kvm"))(…)`. Every such test needs a row in docs/skips.md, and
 * on a CI machine a skip without one is a failure.
 */
export function lacks(...capabilities: readonly Capability[]): boolean {
  return capabilities.some((capability) => !holds(capability));
}

function holds(capability: Capability): boolean {
  try {
    return PROBES[capability]();
  } catch {
    return false;
  }
}
