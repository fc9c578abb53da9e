import { readFileSync, writeFileSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";

/** Kernel settings below /proc/sys/net, of the namespace this thread is in at the moment. */

/** `ipv4/ip_forward` → `1`; undefined when this kernel has no such setting. */
export function readSysctl(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/net/${name}`, "utf8").trim();
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Writes a setting; one that this kernel does not have is passed over, since a kernel without IPv6 needs no ban on it. */
export function writeSysctl(name: string, value: string): void {
  try {
    writeFileSync(`/proc/sys/net/${name}`, value);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}

/** Writes only what differs: some writes (forwarding of all links) cost the kernel a walk over every link. */
export function ensureSysctl(name: string, value: string): boolean {
  if (readSysctl(name) === value) return false;
  writeSysctl(name, value);
  return true;
}
