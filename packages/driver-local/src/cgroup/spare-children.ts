import { readdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { later, type SandboxId } from "@boxyard/core";
import { ChildProgram, type ForkServer, type ParkedChild } from "../sys/fork-server/index.ts";
import { hasErrno } from "../sys/libc.ts";
import type { InstanceCgroups } from "./instance.ts";
import { makeCgroup } from "./sandbox-cgroup.ts";

const PREFIX = "spare-";
/** Number of spare children. When creates come faster than new spare children become ready, the creates wait for the kernel themselves. */
const SPARES = 2;

interface Spare {
  readonly name: string;
  readonly child: ParkedChild;
}

/**
 * Child processes that have entered v1 cgroups ahead of time; used on hybrid machines only. Entering a v1 cgroup waits for a grace period of
 * the kernel, 7 to 20 ms, which would be a third of a create. A v1 cgroup can be renamed: it becomes the sandbox's cgroup, with the child in it,
 * and the child goes on as the runtime. The runtime starts in the sandbox's v2 cgroup, which cannot be renamed and need not be.
 */
export class SpareChildren {
  private readonly parents: readonly string[];
  private readonly forkServer: ForkServer;
  private readonly spares: Spare[] = [];
  private count = 0;
  private refilling: (() => void) | undefined;
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

  /** Makes the v1 cgroups of `id` and returns the child that is in them. Undefined when no child is ready: then it makes nothing. */
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
    this.refilling?.();
    await Promise.all(this.spares.splice(0).map(({ child }) => child.discard()));
    for (const parent of this.parents) removeSpares(parent);
  }

  /** Removes spare children that have ended, with the fork server or by a signal. */
  private dropEnded(): void {
    for (const spare of this.spares.filter(({ child }) => child.isGone())) {
      this.spares.splice(this.spares.indexOf(spare), 1);
      for (const parent of this.parents) removeEmpty(join(parent, spare.name));
      this.refillLater();
    }
  }

  /** Makes new spare children later, so that the create which took one does not wait for it. */
  private refillLater(): void {
    this.refilling ??= later(0, () => {
      this.refilling = undefined;
      if (!this.closed) this.refill();
    });
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
    // Its child has not ended completely: the next `open` tries again.
    if (!hasErrno(error, "EBUSY", "ENOENT")) throw error;
  }
}
