import { readdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { CAN_BE_BORN_IN_CGROUP, ChildProgram } from "../sys/child.ts";
import { hasErrno } from "../sys/libc.ts";
import type { InstanceCgroups } from "./instance.ts";
import { makeCgroup } from "./sandbox-cgroup.ts";

const PREFIX = "spare-";
/** Creates that come quicker than these are made again pay the wait themselves. */
const SPARES = 2;

interface Spare {
  readonly name: string;
  readonly program: ChildProgram;
}

/**
 * On hybrid machines only: children that have entered a set of v1 cgroups ahead of time. Entering one waits for a grace period of the
 * kernel's, 7 to 20 ms, which would be a third of a create. A v1 cgroup can be renamed, so it becomes the sandbox's own with the child
 * in it, and the child goes on as the runtime, born in the sandbox's v2 cgroup (where a rename is not possible, and not needed).
 */
export class SpareChildren {
  private readonly parents: readonly string[];
  private readonly spares: Spare[] = [];
  private count = 0;
  private refilling: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(cgroups: InstanceCgroups) {
    this.parents = CAN_BE_BORN_IN_CGROUP ? cgroups.v1Parents : [];
  }

  /** Removes what an earlier process left and makes the first spares. */
  open(): void {
    for (const parent of this.parents) removeSpares(parent);
    this.refill();
  }

  /** A child in the v1 cgroups of `id`, which this makes; undefined when none is ready, and nothing is made. */
  take(id: SandboxId): ChildProgram | undefined {
    const index = this.spares.findIndex((spare) => spare.program.isReady());
    const [spare] = index < 0 ? [] : this.spares.splice(index, 1);
    if (!spare) return undefined;
    this.refillLater();
    try {
      for (const parent of this.parents) renameSync(join(parent, spare.name), join(parent, id));
      return spare.program;
    } catch (error) {
      spare.program.discard();
      throw error;
    }
  }

  /** Repeatable: the driver's `release` closes it before it removes the cgroups, and `close` comes after that. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.refilling);
    for (const { program } of this.spares.splice(0)) program.discard();
    for (const parent of this.parents) removeSpares(parent);
  }

  /** Off the path of the create that took one. */
  private refillLater(): void {
    this.refilling ??= setTimeout(() => {
      this.refilling = undefined;
      if (!this.closed) this.refill();
    }, 0);
    this.refilling.unref();
  }

  private refill(): void {
    if (this.parents.length === 0) return;
    while (this.spares.length < SPARES) this.spares.push(this.make());
  }

  private make(): Spare {
    const name = `${PREFIX}${process.pid}-${++this.count}`;
    for (const parent of this.parents) makeCgroup(join(parent, name));
    const program = ChildProgram.park((child) => {
      for (const parent of this.parents) child.writeFile(join(parent, name, "cgroup.procs"), "0");
    });
    return { name, program };
  }
}

function removeSpares(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    try {
      rmdirSync(join(parent, name));
    } catch (error) {
      // Its child has been killed, or is just ending: the next to open tries again.
      if (!hasErrno(error, "EBUSY", "ENOENT")) throw error;
    }
  }
}
