import { readFileSync, writeFileSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";

/** Kernel settings below /proc/sys/net, in the network namespace of this thread. */

/** `ipv4/ip_forward` → `1`; undefined when this kernel has no such setting. */
export function readSysctl(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/net/${name}`, "utf8").trim();
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Writes a setting. Does nothing where the kernel does not have it: a kernel without IPv6 need not be told to disable it. */
export function writeSysctl(name: string, value: string): void {
  try {
    writeFileSync(`/proc/sys/net/${name}`, value);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}

/** Writes a setting only where it differs: some writes (forwarding of all links) make the kernel visit every link. True when it was written. */
export function ensureSysctl(name: string, value: string): boolean {
  if (readSysctl(name) === value) return false;
  writeSysctl(name, value);
  return true;
}
