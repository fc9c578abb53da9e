import { readdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { ChildProgram, type ForkServer, type ParkedChild } from "../sys/fork-server/index.ts";
import { hasErrno } from "../sys/libc.ts";
import type { InstanceCgroups } from "./instance.ts";
import { makeCgroup } from "./sandbox-cgroup.ts";

const PREFIX = "spare-";
/** Creates that come quicker than these are made again pay the wait themselves. */
const SPARES = 2;

interface Spare {
  readonly name: string;
  readonly child: ParkedChild;
}

/**
 * On hybrid machines only: children that have entered a set of v1 cgroups ahead of time. Entering one waits for a grace period of the
 * kernel's, 7 to 20 ms, which would be a third of a create. A v1 cgroup can be renamed, so it becomes the sandbox's own with the child
 * in it, and the child goes on as the runtime, born in the sandbox's v2 cgroup (where a rename is not possible, and not needed).
 */
export class SpareChildren {
  private readonly parents: readonly string[];
  private readonly forkServer: ForkServer;
  private readonly spares: Spare[] = [];
  private count = 0;
  private refilling: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(cgroups: InstanceCgroups, forkServer: ForkServer) {
    this.parents = cgroups.v1Parents;
    this.forkServer = forkServer;
  }

  /** Removes what an earlier process left and makes the first spares. */
  open(): void {
    for (const parent of this.parents) removeSpares(parent);
    this.refill();
  }

  /** A child in the v1 cgroups of `id`, which this makes; undefined when none is ready, and nothing is made. */
  take(id: SandboxId): ParkedChild | undefined {
    this.dropEnded();
    const index = this.spares.findIndex(({ child }) => child.isReady());
    const [spare] = index < 0 ? [] : this.spares.splice(index, 1);
    if (!spare) return undefined;
    this.refillLater();
    try {
      for (const parent of this.parents) renameSync(join(parent, spare.name), join(parent, id));
      return spare.child;
    } catch (error) {
      void spare.child.discard();
      throw error;
    }
  }

  /** Repeatable: the driver's `release` closes it before it removes the cgroups, and `close` comes after that. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearTimeout(this.refilling);
    await Promise.all(this.spares.splice(0).map(({ child }) => child.discard()));
    for (const parent of this.parents) removeSpares(parent);
  }

  /** Those that the fork server's end took along, or that the kernel has ended. */
  private dropEnded(): void {
    for (const spare of this.spares.filter(({ child }) => child.isGone())) {
      this.spares.splice(this.spares.indexOf(spare), 1);
      for (const parent of this.parents) removeEmpty(join(parent, spare.name));
      this.refillLater();
    }
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
    const program = new ChildProgram();
    for (const parent of this.parents) program.writeFile(join(parent, name, "cgroup.procs"), "0");
    return { name, child: this.forkServer.park(program) };
  }
}

function removeSpares(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX)) removeEmpty(join(parent, name));
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    // Its child has been killed, or is just ending: the next to open tries again.
    if (!hasErrno(error, "EBUSY", "ENOENT")) throw error;
  }
}
