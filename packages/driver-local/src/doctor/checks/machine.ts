import { readFileSync } from "node:fs";
import { release } from "node:os";
import { type Check, fail, ok, warn } from "../types.ts";

/** Idmapped mounts of overlay and btrfs, `mount_setattr`, `clone3` into a cgroup: all there from 5.19. */
const LEAST_KERNEL = [5, 19] as const;
/** Bits of /proc/self/status' CapEff that set-up and the server can't do without (linux/capability.h). */
const NEEDED_CAPABILITIES = { CAP_SYS_ADMIN: 21n, CAP_NET_ADMIN: 12n, CAP_SETUID: 7n, CAP_CHOWN: 0n, CAP_MKNOD: 27n } as const;
const LEAST_OPEN_FILES = 4096;

/** Names of needed capabilities that the effective set `hex` lacks. */
export function missingCapabilities(hex: string): string[] {
  const set = BigInt(`0x${hex}`);
  return Object.entries(NEEDED_CAPABILITIES).flatMap(([name, bit]) => ((set >> bit) & 1n ? [] : [name]));
}

export const root: Check = {
  name: "root",
  look() {
    if (process.getuid?.() !== 0) return fail("not root", "Run it with sudo: sandboxes need namespaces, mounts and cgroups");
    const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    const missing = missingCapabilities(hex);
    if (missing.length === 0) return ok("root with the capabilities needed");
    return fail(`root without ${missing.join(", ")}`, "Run it on the machine itself, or in a container with --privileged");
  },
};

/** `[6, 18]` of `6.18.44-generic`. */
export function parseKernelVersion(text: string): readonly [number, number] {
  const match = /^(\d+)\.(\d+)/.exec(text);
  return [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
}

export function isAtLeast([major, minor]: readonly [number, number], [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

export const kernelVersion: Check = {
  name: "kernel",
  look() {
    if (isAtLeast(parseKernelVersion(release()), LEAST_KERNEL)) return ok(`Linux ${release()}`);
    return fail(
      `Linux ${release()}`,
      `Use a kernel from ${LEAST_KERNEL.join(".")} on: older ones can't give each sandbox its own user ids`,
    );
  },
};

export const openFiles: Check = {
  name: "open files",
  look() {
    const limit = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? "0";
    if (limit === "unlimited" || Number(limit) >= LEAST_OPEN_FILES) return ok(`up to ${limit} in a process`);
    return warn(
      `only ${limit} in a process`,
      `Raise the hard limit to ${LEAST_OPEN_FILES} or more (ulimit -Hn, or LimitNOFILE= of a unit)`,
    );
  },
};
