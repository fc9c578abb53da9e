import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";
import { readSysctl, writeSysctl } from "./sysctl.ts";

/**
 * Forwarding on the machine: the only machine-wide setting that we change. A machine that forwards already is left as it is. Else forwarding
 * is turned on for the links to the outside only, because answers come in there, and never for the machine as a whole.
 *
 * Before a link is changed, a file named after it is written in a machine-wide directory. Instances share this directory, and the last
 * instance that is released restores the settings. A file from before a reboot is ignored, since the kernel's settings were reset.
 */
export class Forwarding {
  private readonly directory: string;
  private readonly bootId: string;

  constructor(runDirectory: string) {
    this.directory = `${runDirectory}/forwarding`;
    this.bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  }

  /** Turns forwarding on where it is off. Returns those of `links` on which this or another instance turned it on. */
  open(links: readonly string[]): string[] {
    if (readSysctl("ipv4/ip_forward") === "1") return [];
    for (const link of links) {
      if (readSysctl(`ipv4/conf/${link}/forwarding`) !== "0") continue;
      this.note(link);
      writeSysctl(`ipv4/conf/${link}/forwarding`, "1");
    }
    const noted = new Set(this.noted());
    return links.filter((link) => noted.has(link));
  }

  /** Restores the setting of every changed link. Only for the last instance on the machine. */
  restore(): void {
    const everythingForwards = readSysctl("ipv4/ip_forward") === "1";
    for (const link of this.noted()) {
      // Another program turned forwarding on for all links meanwhile: it stays as that program wants it.
      if (!everythingForwards) writeSysctl(`ipv4/conf/${link}/forwarding`, "0");
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Links on which this or another instance turned forwarding on. */
  noted(): string[] {
    try {
      return readdirSync(this.directory).filter((link) => this.readNote(link) === this.bootId);
    } catch (error) {
      if (hasErrno(error, "ENOENT")) return [];
      throw error;
    }
  }

  private note(link: string): void {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    writeFileSync(`${this.directory}/${link}`, this.bootId);
  }

  private readNote(link: string): string | undefined {
    try {
      return readFileSync(`${this.directory}/${link}`, "utf8").trim();
    } catch (error) {
      if (hasErrno(error, "ENOENT")) return undefined;
      throw error;
    }
  }
}
