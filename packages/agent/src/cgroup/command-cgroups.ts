import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno-of.ts";
import { after } from "../timers.ts";

/** Commands with pipes and commands with a terminal live in two subtrees, frozen together before a pause. */
export type CommandKind = "user" | "pty";

/** Existing names that `create` skips: root of the sandbox may have made groups of these names. */
const MOST_TAKEN = 1_000;

/**
 * One cgroup for each command, so that everything a command starts can be ended at once, whatever it does to its parents and sessions.
 * Where the sandbox has no writable cgroup v2 of its own, commands stay in the agent's cgroup and only their process group can be killed.
 */
export class CommandCgroups {
  private readonly root: string;
  private readonly leftovers = new Set<string>();
  private isSweepSet = false;
  private nextNumber = 1;
  private readonly enabled: boolean;

  constructor(root: string) {
    this.root = root;
    this.enabled = this.prepare();
  }

  /** Makes the cgroup of one command; undefined where the sandbox has no writable cgroup. Throws `resource_exhausted` at its limit of cgroups. */
  create(kind: CommandKind): CommandCgroup | undefined {
    if (!this.enabled) return undefined;
    for (let left = MOST_TAKEN; ; left--) {
      const path = join(this.root, kind, String(this.nextNumber++));
      try {
        makeGroup(path);
        return new CommandCgroup(path, (leftover) => this.remove(leftover));
      } catch (error) {
        if (errnoOf(error) !== "EEXIST" || left === 0) throw creationFailure(error);
      }
    }
  }

  /** Removes the cgroup now, or as soon as the processes that the command left running have ended. */
  private remove(path: string): void {
    if (tryRemove(path)) return;
    this.leftovers.add(path);
    this.sweepLater();
  }

  private sweepLater(): void {
    if (this.isSweepSet) return;
    this.isSweepSet = true;
    after(LIMITS.cgroupSweepMs, () => this.sweep());
  }

  private sweep(): void {
    this.isSweepSet = false;
    for (const path of this.leftovers) if (tryRemove(path)) this.leftovers.delete(path);
    if (this.leftovers.size > 0) this.sweepLater();
  }

  /** The driver makes both subtrees; a sandbox started otherwise gets them here, or has none. */
  private prepare(): boolean {
    try {
      statSync(join(this.root, "cgroup.procs"));
      for (const kind of ["user", "pty"]) mkdirSync(join(this.root, kind), { recursive: true });
      return true;
    } catch {
      return false;
    }
  }
}

/** Also makes the subtree again, which root of the sandbox may have removed. */
function makeGroup(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    mkdirSync(path, { recursive: true });
  }
}

function creationFailure(error: unknown): AppError {
  if (errnoOf(error) === "EAGAIN") {
    const message = "the sandbox has reached its limit of command groups; end some commands and try again";
    return new AppError("resource_exhausted", message, { reason: "cgroup_limit", cause: error });
  }
  return new AppError("internal", "the command's control group cannot be made", { reason: "no_cgroup", cause: error });
}

/** Removes a cgroup with all groups that the command made below it. False while it is in use. */
function tryRemove(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
  }
  return !isPopulated(path) && tryRemoveTree(path);
}

/** Removes groups deepest first. The driver bounds their number and depth. */
function tryRemoveTree(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) tryRemoveTree(join(path, entry.name));
    rmdirSync(path);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}

/** Whether a process is in this cgroup or in one below it. */
function isPopulated(path: string): boolean {
  try {
    return readFileSync(join(path, "cgroup.events"), "utf8").includes("populated 1");
  } catch {
    return false;
  }
}

export class CommandCgroup {
  readonly path: string;
  private readonly onRemove: (path: string) => void;

  constructor(path: string, onRemove: (path: string) => void) {
    this.path = path;
    this.onRemove = onRemove;
  }

  /** Kills every process in the cgroup, frozen or not. False when the kernel refuses. */
  kill(): boolean {
    try {
      writeFileSync(join(this.path, "cgroup.kill"), "1");
      return true;
    } catch {
      return false;
    }
  }

  /** To be called once the command has ended. */
  remove(): void {
    this.onRemove(this.path);
  }
}
