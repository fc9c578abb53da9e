import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { parseStat } from "@boxyard/core/process-stat";

/**
 * What a sandbox platform can leave behind on a machine, as lists of lines: one line is one thing, and two snapshots are compared line by
 * line. Everything is read from the kernel, nothing from our own records.
 */
export interface Snapshot {
  /** Mount points of our mount namespace, with kind and source; kept namespaces show as `nsfs`. */
  readonly mounts: readonly string[];
  /** Loop devices in use, with the file behind each. */
  readonly loops: readonly string[];
  readonly links: readonly string[];
  readonly networkNamespaces: readonly string[];
  readonly nftTables: readonly string[];
  /** Links and addresses of routes in the routers' namespaces, where every sandbox's link ends. */
  readonly routers: readonly string[];
  /** Ranges of user ids that servers have claimed. */
  readonly userIds: readonly string[];
  /** Control groups named `boxyard-…`, in every hierarchy. */
  readonly cgroups: readonly string[];
  /** Processes in such a group, or started with the marker; not those that only await the machine's init. */
  readonly processes: readonly string[];
  /** Owner and mode of every device node of the machine. */
  readonly devices: readonly string[];
}

export interface SnapshotOptions {
  /** Processes with an environment entry that begins with this (`NAME=value`) count as ours. */
  readonly marker?: string;
}

export function takeSnapshot(options: SnapshotOptions = {}): Snapshot {
  return {
    mounts: mounts(),
    loops: loops(),
    links: entries("/sys/class/net"),
    networkNamespaces: entries("/run/netns"),
    nftTables: nftTables(),
    routers: routers(),
    userIds: userIds(),
    cgroups: cgroups(),
    processes: processes(options.marker),
    devices: devices("/dev"),
  };
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function userIds(): string[] {
  const directories = entries("/run/boxyard").filter((name) => name.startsWith("uid-ranges-"));
  return directories.flatMap((name) => {
    const directory = join("/run/boxyard", name);
    return entries(directory).map((base) => `${base} of ${linkTarget(join(directory, base))}`);
  });
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // It has gone meanwhile.
  }
}

function mounts(): string[] {
  return text("/proc/self/mountinfo")
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const fields = line.split(" ");
      const after = fields.slice(fields.indexOf("-") + 1);
      return `${fields[4]} (${after[0]}, ${after[1]}, root ${fields[3]})`;
    })
    .sort();
}

function loops(): string[] {
  return entries("/sys/block").flatMap((name) => {
    const file = name.startsWith("loop") ? text(`/sys/block/${name}/loop/backing_file`).trim() : "";
    return file ? [`${name}: ${file}`] : [];
  });
}

function nftTables(): string[] {
  try {
    const listed = Bun.spawnSync(["nft", "list", "tables"], { stderr: "ignore" });
    return listed.stdout.toString().split("\n").filter(Boolean).sort();
  } catch {
    return []; // No nft on this machine, so no tables of ours either.
  }
}

function routers(): string[] {
  return entries("/run/boxyard")
    .filter((name) => /^boxyard-[0-9a-f]{8}$/.test(name))
    .flatMap((name) => {
      const inside = (...command: string[]) =>
        Bun.spawnSync(["nsenter", `--net=/run/boxyard/${name}`, "cat", ...command], { stderr: "ignore" })
          .stdout.toString()
          .split("\n");
      const links = inside("/proc/net/dev").flatMap((line) => /^\s*(\S+):/.exec(line)?.[1] ?? []);
      const routes = inside("/proc/net/route")
        .slice(1)
        .filter(Boolean)
        .map((line) => line.split("\t").slice(0, 2).join(" to "));
      return [...links.map((link) => `${name}: link ${link}`), ...routes.map((route) => `${name}: route over ${route}`)].sort();
    });
}

/**
 * A driver keeps a few spare groups, each with a child of its own in it, and makes a new one for each it has used. Their numbers differ from
 * one look to the next; how many there are may not.
 */
const SPARE = /\/spare-\d+-\d+$/;

/** A v1 hierarchy is a directory of `/sys/fs/cgroup`, as the v2 one is on hybrid machines; on pure v2 the groups are there directly. */
function cgroups(): string[] {
  const found: string[] = [];
  const roots = ["/sys/fs/cgroup", ...entries("/sys/fs/cgroup").map((name) => `/sys/fs/cgroup/${name}`)];
  for (const root of roots) {
    for (const name of entries(root)) {
      if (!name.startsWith("boxyard-")) continue;
      found.push(join(root, name));
      for (const child of entries(join(root, name))) {
        if (isDirectory(join(root, name, child))) found.push(join(root, name, child).replace(SPARE, "/spare"));
      }
    }
  }
  return found.sort();
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

function processes(marker: string | undefined): string[] {
  const found: string[] = [];
  for (const pid of entries("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const groups = text(`/proc/${pid}/cgroup`).split("\n");
    const inGroup = groups.some((line) => line.includes("/boxyard-"));
    const marked = marker !== undefined && `\0${text(`/proc/${pid}/environ`)}`.includes(`\0${marker}`);
    const spareOf = groups.find((line) => SPARE.test(line))?.split(":")[2];
    if (inGroup && awaitsInit(text(`/proc/${pid}/stat`))) continue;
    if (spareOf) found.push(`a child in ${spareOf.replace(SPARE, "/spare")}`);
    else if (inGroup || marked) found.push(`${pid}: ${text(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim()}`);
  }
  return found;
}

/** Whether a process has ended and only the machine's init can reap it. Some init programs look once a second. `stat`: the text of `/proc/<pid>/stat`. */
export function awaitsInit(stat: string): boolean {
  const { state, parentPid } = parseStat(stat);
  return state === "Z" && parentPid === 1;
}

/** Nodes that come and go by themselves (terminals) are left out. */
function devices(directory: string): string[] {
  return entries(directory).flatMap((name) => {
    const path = join(directory, name);
    if (path === "/dev/pts" || path === "/dev/shm" || path === "/dev/fd") return [];
    try {
      const stat = lstatSync(path);
      if (stat.isDirectory()) return devices(path);
      if (!stat.isCharacterDevice() && !stat.isBlockDevice()) return [];
      return [`${path}: owner ${stat.uid}:${stat.gid}, mode ${(stat.mode & 0o7777).toString(8)}`];
    } catch {
      return [];
    }
  });
}
