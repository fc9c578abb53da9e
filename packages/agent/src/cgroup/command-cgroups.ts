import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno-of.ts";

/** Commands with pipes and commands with a terminal live in two subtrees, frozen together before a pause. */
export type CommandKind = "user" | "pty";

/** So many names in a row may be those of groups that the sandbox's root has made. */
const MOST_TAKEN = 1_000;

/**
 * One cgroup for each command, so that everything a command starts can be ended at once, whatever it does to its parents and sessions.
 * Where the sandbox has no writable cgroup v2 of its own, commands stay in the agent's cgroup and only their process group can be killed.
 */
export class CommandCgroups {
  private readonly root: string;
  private readonly leftovers = new Set<string>();
  private sweeper: Timer | undefined;
  private nextNumber = 1;
  private readonly enabled: boolean;

  constructor(root: string) {
    this.root = root;
    this.enabled = this.prepare();
  }

  /** Makes the cgroup of one command; undefined where there are none. Throws `resource_exhausted` when the sandbox may have no more. */
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

  /** Removes it now, or as soon as what the command left running has ended. */
  private remove(path: string): void {
    if (tryRemove(path)) return;
    this.leftovers.add(path);
    this.sweeper ??= setInterval(() => this.sweep(), LIMITS.cgroupSweepMs);
    this.sweeper.unref();
  }

  private sweep(): void {
    for (const path of this.leftovers) if (tryRemove(path)) this.leftovers.delete(path);
    if (this.leftovers.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
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

/** The sandbox's root may have removed the subtree. */
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

/** With all groups that the command made below it. */
function tryRemove(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
  }
  return !isPopulated(path) && tryRemoveTree(path);
}

/** Deepest first. The driver bounds how many there are, and how deep. */
function tryRemoveTree(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) tryRemoveTree(join(path, entry.name));
    rmdirSync(path);
    return true;
  } catch (error) {
    return errnoOf(error) === "ENOENT";
  }
}

/** Whether a process is in it, or in one below it. */
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

  /** Ends everything in it, frozen or not. False when the kernel would not. */
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
