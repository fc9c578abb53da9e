import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSandboxId, type SandboxId } from "@boxyard/core";
import { hasErrno } from "../sys/libc.ts";
import { DISK_CONTROLLER_V2, type Hierarchies, mountPoints } from "./hierarchies.ts";
import type { DiskBandwidth } from "./limits.ts";

/** The cgroups that hold all sandboxes of one server: `boxyard-<instance>` in every hierarchy. */
export class InstanceCgroups {
  readonly hierarchies: Hierarchies;
  /** Disk bandwidth of each sandbox; undefined: no limit. */
  readonly disk: DiskBandwidth | undefined;
  /** Name of the cgroup in every hierarchy; unique to this server. */
  readonly name: string;

  constructor(hierarchies: Hierarchies, instance: string, disk?: DiskBandwidth) {
    this.hierarchies = hierarchies;
    this.disk = disk;
    this.name = `boxyard-${instance}`;
  }

  /** Makes the cgroups, and on v2 enables the controllers for the cgroups below. Repeatable. */
  prepare(): void {
    for (const directory of this.directories) {
      mkdirSync(directory, { recursive: true });
      chmodSync(directory, 0o755);
    }
    const { unified } = this.hierarchies;
    const available = readFileSync(join(unified, "cgroup.controllers"), "utf8").trim().split(/\s+/);
    const wanted = ["memory", "cpu", "pids", ...(this.disk ? [DISK_CONTROLLER_V2] : [])].filter((name) => available.includes(name));
    for (const directory of [unified, join(unified, this.name)]) {
      const file = join(directory, "cgroup.subtree_control");
      const enabled = readFileSync(file, "utf8").trim().split(/\s+/);
      for (const name of wanted) if (!enabled.includes(name)) writeFileSync(file, `+${name}`);
    }
  }

  /** The cgroups that hold all sandboxes, v2 first. */
  get directories(): readonly string[] {
    return mountPoints(this.hierarchies).map((point) => join(point, this.name));
  }

  /** The cgroups of one sandbox, v2 first. */
  directoriesOf(id: SandboxId): readonly string[] {
    return this.directories.map((directory) => join(directory, id));
  }

  /** The v1 directories in which cgroups of sandboxes are made; empty on pure v2. */
  get v1Parents(): readonly string[] {
    return this.directories.slice(1);
  }

  /** Sandboxes that have a cgroup in any hierarchy. */
  list(): readonly SandboxId[] {
    const found = new Set<SandboxId>();
    for (const point of mountPoints(this.hierarchies)) {
      try {
        for (const name of readdirSync(join(point, this.name))) if (isSandboxId(name)) found.add(name);
      } catch (error) {
        if (!hasErrno(error, "ENOENT")) throw error;
      }
    }
    return [...found];
  }

  /** Removes the empty parents. Repeatable. */
  remove(): void {
    for (const point of mountPoints(this.hierarchies)) {
      try {
        rmdirSync(join(point, this.name));
      } catch (error) {
        if (!hasErrno(error, "ENOENT")) throw error;
      }
    }
  }
}
