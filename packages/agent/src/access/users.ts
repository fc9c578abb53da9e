import { statSync } from "node:fs";
import { join } from "node:path";
import type { SystemUser, Users } from "../contracts.ts";
import { readSystemFile } from "./system-file.ts";

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_ID = 0xffff_fffe;

interface PasswdEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

interface GroupEntry {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/** Root exists in every image, also where `/etc/passwd` is missing or does not list it. */
const ROOT: PasswdEntry = { name: "root", uid: 0, gid: 0, home: "/root", shell: "/bin/sh" };

/** Users and groups as two files list them, without libc and without a name service. A file that has changed is read again. */
export class SystemUsers implements Users {
  private readonly passwd: ParsedFile<PasswdEntry>;
  private readonly group: ParsedFile<GroupEntry>;

  constructor(etc = "/etc") {
    this.passwd = new ParsedFile(join(etc, "passwd"), parsePasswdLine);
    this.group = new ParsedFile(join(etc, "group"), parseGroupLine);
  }

  byName(name: string): SystemUser | undefined {
    const entry = this.passwd.entries().find((e) => e.name === name) ?? (name === ROOT.name ? ROOT : this.byNumber(name));
    if (!entry) return undefined;
    const listed = this.group.entries().filter((g) => g.members.includes(name));
    return { ...entry, home: entry.home || "/", groups: [...new Set([entry.gid, ...listed.map((g) => g.gid)])] };
  }

  /** In a tree without `/etc/passwd` users have numbers only, as `USER 1000` of a Dockerfile `FROM scratch` has. */
  private byNumber(text: string): PasswdEntry | undefined {
    const id = parseId(text);
    if (id === undefined || this.passwd.isThere()) return undefined;
    return id === ROOT.uid ? ROOT : { name: text, uid: id, gid: 0, home: "/", shell: "" };
  }

  userName(uid: number): string {
    return this.passwd.entries().find((e) => e.uid === uid)?.name ?? (uid === ROOT.uid ? ROOT.name : String(uid));
  }

  groupName(gid: number): string {
    return this.group.entries().find((e) => e.gid === gid)?.name ?? (gid === ROOT.gid ? ROOT.name : String(gid));
  }
}

/** Stamp of a missing file. */
const NONE = "none";

/** A file of lines, parsed again only after it has changed. */
class ParsedFile<T> {
  private readonly path: string;
  private readonly parse: (line: string) => T | undefined;
  private stamp = "";
  private parsed: readonly T[] = [];

  constructor(path: string, parse: (line: string) => T | undefined) {
    this.path = path;
    this.parse = parse;
  }

  entries(): readonly T[] {
    const stamp = this.currentStamp();
    if (stamp !== this.stamp) {
      const text = readSystemFile(this.path, MAX_FILE_BYTES) ?? "";
      this.parsed = text
        .split("\n")
        .map(this.parse)
        .filter((entry) => entry !== undefined);
      this.stamp = stamp;
    }
    return this.parsed;
  }

  isThere(): boolean {
    return this.currentStamp() !== NONE;
  }

  private currentStamp(): string {
    const stat = statSync(this.path, { throwIfNoEntry: false });
    return stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}` : NONE;
  }
}

function parsePasswdLine(line: string): PasswdEntry | undefined {
  const [name, , uid, gid, , home = "", shell = ""] = line.split(":");
  const ids = [parseId(uid), parseId(gid)] as const;
  if (!name || ids[0] === undefined || ids[1] === undefined) return undefined;
  return { name, uid: ids[0], gid: ids[1], home, shell };
}

function parseGroupLine(line: string): GroupEntry | undefined {
  const [name, , gid, members = ""] = line.split(":");
  const id = parseId(gid);
  if (!name || id === undefined) return undefined;
  return { name, gid: id, members: members.split(",").map((member) => member.trim()) };
}

function parseId(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= MAX_ID ? id : undefined;
}
