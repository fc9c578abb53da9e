import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";
import { readSysctl, writeSysctl } from "./sysctl.ts";

/**
 * Forwarding on the machine: the one machine-wide thing we need. A machine that forwards already is left as it is. Else forwarding is
 * turned on for the links to the outside only, because answers come in there, and never for the machine as a whole.
 *
 * What was changed is noted in one file per link, machine-wide, before it is changed: instances share it, and the last one to go puts it
 * back. A note from before a reboot means nothing, since the kernel's settings began anew.
 */
export class Forwarding {
  private readonly directory: string;
  private readonly bootId: string;

  constructor(runDirectory: string) {
    this.directory = `${runDirectory}/forwarding`;
    this.bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  }

  /** Turns forwarding on where it is off. Returns the links on which it is on because of us (of any instance). */
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

  /** Puts everything back. Only for the last instance on the machine. */
  putBack(): void {
    const everythingForwards = readSysctl("ipv4/ip_forward") === "1";
    for (const link of this.noted()) {
      // Another program turned forwarding on for all links meanwhile: it stays as that program wants it.
      if (!everythingForwards) writeSysctl(`ipv4/conf/${link}/forwarding`, "0");
    }
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Links that we opened and that were closed before. */
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
