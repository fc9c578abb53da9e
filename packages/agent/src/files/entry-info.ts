import { type BigIntStats, lstatSync, realpathSync, statSync } from "node:fs";
import type { EntryInfo } from "@boxyard/spec/agent";
import type { Users } from "../contracts.ts";
import { metadataOfFile } from "./metadata.ts";
import { baseName } from "./path/resolve-path.ts";
import { permissionText } from "./permissions.ts";

const NONE: EntryInfo["metadata"] = Object.freeze(Object.create(null));
/** Size of an empty directory on ext4. btrfs and some others report 0 or a smaller size. */
const LEAST_DIRECTORY_BYTES = 4096;
const SECOND_NS = 1_000_000_000n;

/** Makes the entries of one answer. Looks up each user and group name once. */
export class EntryReader {
  private readonly users: Users;
  private readonly userNames = new Map<number, string>();
  private readonly groupNames = new Map<number, string>();

  constructor(users: Users) {
    this.users = users;
  }

  /**
   * The entry at an absolute path (docs/contract/agent.md, File system). For a link, type and mode are those of its target, everything else is
   * the link's own. Undefined when nothing is there; throws the kernel's other errors.
   */
  read(path: string): EntryInfo | undefined {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && this.describe(path, stat, true);
  }

  /** The same for a path that is not UTF-8: `bytes` is the path, `path` its text for the answer. Links are not followed. */
  readBytes(path: string, bytes: Buffer): EntryInfo | undefined {
    const stat = lstatSync(bytes, { bigint: true, throwIfNoEntry: false });
    return stat && this.describe(path, stat, false);
  }

  private describe(path: string, stat: BigIntStats, reachable: boolean): EntryInfo {
    const link = stat.isSymbolicLink() ? follow(path, reachable) : undefined;
    const seen = link ? link.stat : stat;
    const nanos = ((stat.mtimeNs % SECOND_NS) + SECOND_NS) % SECOND_NS;
    const entry: EntryInfo = {
      name: baseName(path),
      type: seen?.isFile() ? "FILE_TYPE_FILE" : seen?.isDirectory() ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_UNSPECIFIED",
      path,
      size: stat.isDirectory() ? Math.max(LEAST_DIRECTORY_BYTES, Number(stat.size)) : Number(stat.size),
      mode: Number((seen ?? stat).mode & 0o777n),
      permissions: permissionText(Number(stat.mode)),
      owner: this.owner(Number(stat.uid)),
      group: this.group(Number(stat.gid)),
      modifiedTime: { seconds: Number((stat.mtimeNs - nanos) / SECOND_NS), nanos: Number(nanos) },
      metadata: reachable && (seen?.isFile() || seen?.isDirectory()) ? metadataOfFile(path) : NONE,
      isSymlink: link !== undefined,
    };
    return link ? { ...entry, symlinkTarget: link.target } : entry;
  }

  private owner(uid: number): string {
    return remembered(this.userNames, uid, () => this.users.userName(uid));
  }

  private group(gid: number): string {
    return remembered(this.groupNames, gid, () => this.users.groupName(gid));
  }
}

function remembered(names: Map<number, string>, id: number, look: () => string): string {
  const known = names.get(id);
  if (known !== undefined) return known;
  const name = look();
  names.set(id, name);
  return name;
}

/** Path and status of a link's target; the link's own path and no status when the link is dangling. */
function follow(path: string, reachable: boolean): { readonly target: string; readonly stat: BigIntStats | undefined } {
  try {
    if (reachable) return { target: realpathSync(path), stat: statSync(path, { bigint: true }) };
  } catch {
    // Dangling, or a loop.
  }
  return { target: path, stat: undefined };
}
