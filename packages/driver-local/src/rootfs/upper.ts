import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GUEST_DIRECTORY } from "./mounts.ts";

export interface UpperFiles {
  /** The sandbox's root on this machine. */
  readonly owner: number;
  readonly hostname: string;
  readonly address: string;
  readonly dnsAddress: string;
}

/** The directories of overlay in a volume. */
export const upperOf = (volume: string) => join(volume, "upper");
export const workOf = (volume: string) => join(volume, "work");

/** Files that a build leaves out of a new layer: each sandbox has its own. */
export const OWN_FILES = ["etc/hosts", "etc/hostname", "etc/resolv.conf"] as const;

/**
 * Makes the upper directory of a new volume: empty except for the mount point of the guest bundle and the files with the sandbox's name and address
 * (without /etc/hosts, `sudo` takes 20 s). No process of the sandbox has run yet, so no path in it can be a symbolic link of the sandbox's making.
 */
export function makeUpper(volume: string, files: UpperFiles): void {
  const upper = upperOf(volume);
  const directory = (path: string) => {
    mkdirSync(path);
    chmodSync(path, 0o755);
    chownSync(path, files.owner, files.owner);
  };
  directory(upper);
  mkdirSync(workOf(volume));
  directory(join(upper, GUEST_DIRECTORY));
  directory(join(upper, "etc"));
  const { hostname } = files;
  const texts = [
    `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n${files.address} ${hostname}\n`,
    `${hostname}\n`,
    `nameserver ${files.dnsAddress}\n`,
  ];
  for (const [i, name] of OWN_FILES.entries()) {
    const path = join(upper, name);
    writeFileSync(path, texts[i] as string, { mode: 0o644, flag: "wx" });
    chmodSync(path, 0o644);
    chownSync(path, files.owner, files.owner);
  }
}
