import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { eventually, runProgram } from "@boxyard/testkit";

/*
 * What podman leaves on a machine after its last container has gone: the mount of its storage, a bridge, tables of rules, empty cgroups,
 * and forwarding switched on. A bench must not change the machine it measures: podman runs in namespaces that end with the bench
 * (engine-namespaces.ts), what it leaves outside of them is removed, and then nothing may be left.
 */

/** Names of things on the machine that podman and its network plugins make. */
export interface EngineLeftovers {
  readonly mounts: readonly string[];
  readonly links: readonly string[];
  readonly tables: readonly string[];
  /** Deepest first. */
  readonly cgroups: readonly string[];
  readonly forwarding: string;
}

const STORAGE = "/var/lib/containers/storage/";
const LINK = /^(cni-)?podman\d+$/;
/** Tables that hold the plugins' rules; a machine may have some of them for other reasons. */
const TABLES = ["ip nat", "ip filter", "ip mangle", "ip6 nat", "ip6 filter", "ip6 mangle", "inet netavark"];
const FORWARDING = "/proc/sys/net/ipv4/ip_forward";
const CGROUPS = "/sys/fs/cgroup";

export async function engineLeftovers(): Promise<EngineLeftovers> {
  const mounted = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const { stdout } = await runProgram(["nft", "list", "tables"]);
  return {
    mounts: mounted.map((line) => line.split(" ")[1] ?? "").filter((target) => target.startsWith(STORAGE)),
    links: readdirSync("/sys/class/net").filter((name) => LINK.test(name)),
    tables: stdout
      .split("\n")
      .map((line) => line.replace(/^table /, "").trim())
      .filter((name) => TABLES.includes(name)),
    cgroups: ["", ...readdirSync(CGROUPS)].flatMap((hierarchy) => below(join(CGROUPS, hierarchy, "libpod_parent"))),
    forwarding: readFileSync(FORWARDING, "utf8").trim(),
  };
}

function below(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const directories = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [...directories.flatMap(({ name }) => below(join(directory, name))), directory];
}

/** What `now` has and `before` had not. */
export function newLeftovers(before: EngineLeftovers, now: EngineLeftovers): EngineLeftovers {
  const added = (kind: "mounts" | "links" | "tables" | "cgroups") => now[kind].filter((name) => !before[kind].includes(name));
  return {
    mounts: added("mounts"),
    links: added("links"),
    tables: added("tables"),
    cgroups: added("cgroups"),
    forwarding: before.forwarding === now.forwarding ? "" : now.forwarding,
  };
}

const isEmpty = ({ forwarding, ...lists }: EngineLeftovers) => forwarding === "" && Object.values(lists).every((list) => list.length === 0);

/** When it is disposed of, cgroups that came meanwhile are removed; throws when anything of podman's is on the machine that was not before. */
export async function withoutEngineLeftovers(): Promise<AsyncDisposable> {
  const before = await engineLeftovers();
  return {
    async [Symbol.asyncDispose]() {
      // Podman's last helpers end a moment after podman.
      await eventually("nothing of podman's is left on this machine", async () => {
        for (const cgroup of newLeftovers(before, await engineLeftovers()).cgroups) rmdirSync(cgroup);
        const left = newLeftovers(before, await engineLeftovers());
        if (!isEmpty(left)) throw new Error(JSON.stringify(left));
        return true;
      });
    },
  };
}
