import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AppError, type Clock, type SandboxId } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import { namesIn, openAt, rmdirAt, statAt, TYPE, typeOf } from "../sys/at.ts";
import { close, hasErrno, O, open, syscall } from "../sys/libc.ts";
import type { InstanceCgroups } from "./instance.ts";
import { diskFiles, limitFiles } from "./limits.ts";

/** What the owner of a delegated cgroup may write (kernel documentation, cgroup-v2, "Delegation"). */
const DELEGATED = ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"];
/** In the cgroups of commands the agent freezes and kills as well. At the top both are the machine's alone. */
const COMMANDS = [...DELEGATED, "cgroup.freeze", "cgroup.kill"];
const POLL_MS = 2;
const FREEZE_TIMEOUT_MS = 10_000;
const KILL_TIMEOUT_MS = 10_000;
/** Deeper than `cgroup.max.depth` lets a sandbox go. */
const MAX_REMOVE_DEPTH = 16;

/** The cgroups of one sandbox: one directory in each hierarchy; limits live where the controller does, life and death in v2. */
export class SandboxCgroup {
  readonly directories: readonly string[];
  private readonly instance: InstanceCgroups;
  private readonly clock: Clock;

  constructor(instance: InstanceCgroups, id: SandboxId, clock: Clock) {
    this.instance = instance;
    this.directories = instance.directoriesOf(id);
    this.clock = clock;
  }

  /** The v2 directory. */
  get top(): string {
    return this.directories[0] as string;
  }

  /** Path of the sandbox's directory in the hierarchy of a v1 controller, if that is where it lives. */
  v1Directory(controller: "memory" | "cpu" | "cpuacct" | "pids"): string | undefined {
    const point = this.instance.hierarchies.v1[controller];
    return point && join(point, this.relative);
  }

  /** Path from the top of every hierarchy. */
  get pathInside(): string {
    return `/${this.relative}`;
  }

  private get relative(): string {
    return join(basename(dirname(this.top)), basename(this.top));
  }

  /**
   * Makes all directories, or the v2 one only when the v1 ones are there (`hasV1`); `owner` is the sandbox's root, who gets the v2 directory and
   * below it `user` and `pty` for commands.
   */
  create(owner: number, hasV1 = false): void {
    for (const directory of hasV1 ? [this.top] : this.directories) makeCgroup(directory);
    for (const file of DELEGATED) chownSync(join(this.top, file), owner, owner);
    for (const child of ["user", "pty"]) {
      makeCgroup(join(this.top, child));
      for (const file of COMMANDS) chownSync(join(this.top, child, file), owner, owner);
    }
  }

  /** Gives the groups below the top to the sandbox's root, as if it had made them: CRIU makes them for the root that they were dumped of. */
  give(owner: number): void {
    for (const path of this.groupsBelow()) {
      const directory = join(this.top, path);
      for (const file of ["", ...readdirSync(directory)]) chownSync(join(directory, file), owner, owner);
    }
  }

  limit(limits: ResourceLimits): void {
    const { hierarchies, disk } = this.instance;
    for (const file of [...limitFiles(hierarchies, this.relative, limits), ...diskFiles(hierarchies, this.relative, disk)]) {
      try {
        writeFileSync(file.path, file.text);
      } catch (error) {
        if (!file.optional || !hasErrno(error, "ENOENT")) throw error;
      }
    }
  }

  private event(name: "populated" | "frozen"): boolean | undefined {
    try {
      return new RegExp(`^${name} 1$`, "m").test(readFileSync(join(this.top, "cgroup.events"), "utf8"));
    } catch (error) {
      if (hasErrno(error, "ENOENT", "ENODEV")) return undefined;
      throw error;
    }
  }

  isPopulated(): boolean {
    return this.event("populated") ?? false;
  }

  isFrozen(): boolean {
    return this.event("frozen") ?? false;
  }

  /** Ends every process of the sandbox, frozen or not, at once. Nothing to end is fine. */
  kill(): void {
    try {
      writeFileSync(join(this.top, "cgroup.kill"), "1");
    } catch (error) {
      if (!hasErrno(error, "ENOENT", "ENODEV")) throw error;
    }
  }

  /**
   * True once a freeze was asked for, also while the kernel is still at it: a task that ends makes a frozen cgroup count as thawed for a
   * moment.
   */
  isToBeFrozen(): boolean {
    return readFileSync(join(this.top, "cgroup.freeze"), "utf8").trim() === "1";
  }

  async freeze(frozen: boolean): Promise<void> {
    writeFileSync(join(this.top, "cgroup.freeze"), frozen ? "1" : "0");
    await this.until(() => this.isFrozen() === frozen, FREEZE_TIMEOUT_MS, frozen ? "freeze" : "thaw");
  }

  /** Asks for the freeze of everything, and does not wait for it. */
  beginFreeze(): void {
    writeFileSync(join(this.top, "cgroup.freeze"), "1");
  }

  /** Asks for the thaw of everything but what is frozen below, and does not wait for it. */
  beginThaw(): void {
    writeFileSync(join(this.top, "cgroup.freeze"), "0");
  }

  /** Everything runs again, but for the groups (paths from the top) that are to stay frozen. Fine when there is no cgroup. */
  async thawAll(butNot: readonly string[]): Promise<void> {
    if (this.event("frozen") === undefined) return;
    this.setFrozenBelow(["user", "pty"], false);
    this.setFrozenBelow(butNot, true);
    await this.freeze(false);
  }

  /** Freezes or thaws groups below the top, by their paths from there; one that is not there is left out. */
  setFrozenBelow(paths: readonly string[], frozen: boolean): void {
    const top = open(this.top, O.RDONLY | O.DIRECTORY);
    try {
      for (const path of paths) setFrozenAt(top, path, frozen);
    } finally {
      close(top);
    }
  }

  /** Paths, from the top, of the groups below it that are frozen for themselves. */
  frozenBelow(): string[] {
    return this.groupsBelow().filter((path) =>
      orGone(() => readFileSync(join(this.top, path, "cgroup.freeze"), "utf8").trim() === "1", false),
    );
  }

  /** Every process of the sandbox, as the machine numbers them. */
  processes(): number[] {
    return ["", ...this.groupsBelow()].flatMap((path) => {
      try {
        return readFileSync(join(this.top, path, "cgroup.procs"), "utf8")
          .trim()
          .split("\n")
          .filter(Boolean)
          .map(Number);
      } catch (error) {
        if (hasErrno(error, "ENOENT", "ENODEV", "EOPNOTSUPP")) return [];
        throw error;
      }
    });
  }

  /** Groups come and go while this looks: the agent removes the group of each command that has ended. */
  private groupsBelow(path = ""): string[] {
    const entries = orGone(() => readdirSync(join(this.top, path), { withFileTypes: true }), []);
    return entries
      .filter((entry) => entry.isDirectory())
      .flatMap((entry) => {
        const below = join(path, entry.name);
        return [below, ...this.groupsBelow(below)];
      });
  }

  /** Kills everything and resolves when nothing runs any more. Repeatable. */
  async killAndWait(): Promise<void> {
    this.kill();
    await this.until(() => !this.isPopulated(), KILL_TIMEOUT_MS, "end");
  }

  /** Removes every directory, the sandbox's own sub-cgroups included; nothing may run in them. Repeatable. */
  async remove(): Promise<void> {
    const deadline = this.clock.monotonic() + KILL_TIMEOUT_MS;
    for (const directory of this.directories) {
      // A directory stays busy for a moment after its last process has gone.
      while (!removeTree(directory)) {
        if (this.clock.monotonic() > deadline)
          throw new AppError("unavailable", `cgroup ${directory} stays in use`, { reason: "cgroup_busy" });
        await this.clock.sleep(POLL_MS);
      }
    }
  }

  private async until(done: () => boolean, timeoutMs: number, verb: string): Promise<void> {
    const deadline = this.clock.monotonic() + timeoutMs;
    while (!done()) {
      if (this.clock.monotonic() > deadline) {
        throw new AppError("deadline_exceeded", `The sandbox's processes did not ${verb} within ${timeoutMs} ms`, {
          reason: `${verb}_timeout`,
        });
      }
      await this.clock.sleep(POLL_MS);
    }
  }
}

/** In a cgroup file system no name is a link, so a path leads nowhere else. */
function setFrozenAt(top: number, path: string, frozen: boolean): void {
  try {
    const fd = open(join(path, "cgroup.freeze"), O.WRONLY, 0, top);
    try {
      syscall("write", [fd, new TextEncoder().encode(frozen ? "1" : "0"), 1], path);
    } finally {
      close(fd);
    }
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENODEV")) throw error;
  }
}

/** False when something in it is still busy. */
function removeTree(directory: string): boolean {
  let parent: number;
  try {
    parent = open(dirname(directory), O.RDONLY | O.DIRECTORY);
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    throw error;
  }
  try {
    return removeGroup(parent, basename(directory));
  } finally {
    close(parent);
  }
}

/** By byte strings and from directory to directory: a sandbox names its groups as it likes, in no encoding at all. */
function removeGroup(parent: number, name: string, depth = 0): boolean {
  try {
    rmdirAt(parent, name);
    return true;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    if (!hasErrno(error, "EBUSY", "ENOTEMPTY") || depth > MAX_REMOVE_DEPTH) throw error;
  }
  try {
    const directory = openAt(parent, name, O.RDONLY | O.DIRECTORY);
    let empty = true;
    try {
      // Only directories are groups; the rest are the kernel's files, which go with their directory.
      for (const child of groupsIn(directory)) empty = removeGroup(directory, child, depth + 1) && empty;
    } finally {
      close(directory);
    }
    if (empty) rmdirAt(parent, name);
    return empty;
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return true;
    if (hasErrno(error, "EBUSY", "ENOTEMPTY")) return false;
    throw error;
  }
}

function groupsIn(directory: number): string[] {
  return namesIn(directory).filter((name) => {
    const stat = statAt(directory, name);
    return stat !== undefined && typeOf(stat) === TYPE.directory;
  });
}

/** Whatever the umask is: the sandbox's users read their own limits and counts there. */
export function makeCgroup(directory: string): void {
  mkdirSync(directory);
  chmodSync(directory, 0o755);
}

/** What `read` gives, or `otherwise` when the group has been removed meanwhile. */
function orGone<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENODEV")) return otherwise;
    throw error;
  }
}
