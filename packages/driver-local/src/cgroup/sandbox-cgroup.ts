import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AppError, type Clock, type SandboxId } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import { type FileEvents, IN } from "../sys/file-events.ts";
import { close, hasErrno, O, open, syscall } from "../sys/libc.ts";
import { Notice } from "../sys/notice.ts";
import type { InstanceCgroups } from "./instance.ts";
import { type CgroupFile, diskFiles, limitFiles } from "./limits.ts";
import { removeTree } from "./remove-tree.ts";

/** What the owner of a delegated cgroup may write (kernel documentation, cgroup-v2, "Delegation"). */
const DELEGATED = ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"];
/** In the cgroups of commands the agent may freeze and kill too. In the top cgroup only the driver may. */
const COMMANDS = [...DELEGATED, "cgroup.freeze", "cgroup.kill"];
const POLL_MS = 2;
/** The end of processes is notified; a notice that is missing costs at most this time. */
const KILL_LOOK_MS = 50;
const FREEZE_TIMEOUT_MS = 10_000;
const KILL_TIMEOUT_MS = 10_000;

/** The cgroups of one sandbox: one directory in each hierarchy. Limits are written where the controller is; freezing and killing use v2. */
export class SandboxCgroup {
  readonly directories: readonly string[];
  private readonly instance: InstanceCgroups;
  private readonly clock: Clock;
  private readonly fileEvents: FileEvents | undefined;

  /** `fileEvents`: for the end of processes, which is looked for without it. */
  constructor(instance: InstanceCgroups, id: SandboxId, clock: Clock, fileEvents?: FileEvents) {
    this.instance = instance;
    this.directories = instance.directoriesOf(id);
    this.clock = clock;
    this.fileEvents = fileEvents;
  }

  /** The v2 directory. */
  get top(): string {
    return this.directories[0] as string;
  }

  /** Path of the sandbox's directory in the hierarchy of a v1 controller; undefined when the controller is in v2. */
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
   * Makes the directories; only the v2 one when those in v1 exist already (`hasV1`). `owner` is the user id of the sandbox's root, which owns the
   * v2 directory and the groups `user` and `pty` for commands below it.
   */
  create(owner: number, hasV1 = false): void {
    for (const directory of hasV1 ? [this.top] : this.directories) makeCgroup(directory);
    for (const file of DELEGATED) chownSync(join(this.top, file), owner, owner);
    for (const child of ["user", "pty"]) {
      makeCgroup(join(this.top, child));
      for (const file of COMMANDS) chownSync(join(this.top, child, file), owner, owner);
    }
  }

  /** Makes the sandbox's root (`owner`) the owner of all groups below the top: CRIU restores them with the owner that they were dumped with. */
  giveGroupsTo(owner: number): void {
    for (const path of this.groupsBelow()) {
      const directory = join(this.top, path);
      for (const file of ["", ...readdirSync(directory)]) chownSync(join(directory, file), owner, owner);
    }
  }

  limit(limits: ResourceLimits): void {
    const { hierarchies, disk } = this.instance;
    writeFiles([...limitFiles(hierarchies, this.relative, limits), ...diskFiles(hierarchies, this.relative, disk)]);
  }

  /** As `limit`, for cgroups that have limits and processes. Throws EBUSY on v1 when the sandbox uses more memory than the new limit. */
  changeLimits(limits: ResourceLimits): void {
    const v1 = this.v1Directory("memory");
    // v1 refuses memory above memory with swap, so for more memory the limit with swap comes first.
    if (v1 && Number(readFileSync(join(v1, "memory.limit_in_bytes"), "utf8")) < limits.memoryBytes)
      writeFiles([{ path: join(v1, "memory.memsw.limit_in_bytes"), text: String(limits.memoryBytes), optional: true }]);
    writeFiles(limitFiles(this.instance.hierarchies, this.relative, limits));
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

  /** True once a freeze was requested: when a task ends, a frozen cgroup counts as thawed for a moment. False when there is no cgroup. */
  isFreezeRequested(): boolean {
    try {
      return readFileSync(join(this.top, "cgroup.freeze"), "utf8").trim() === "1";
    } catch (error) {
      if (hasErrno(error, "ENOENT", "ENODEV")) return false;
      throw error;
    }
  }

  /** Freezes or thaws everything, and waits for it. `deadline_exceeded` after 10 s. */
  async freeze(frozen: boolean): Promise<void> {
    writeFileSync(join(this.top, "cgroup.freeze"), frozen ? "1" : "0");
    await this.until(() => this.isFrozen() === frozen, FREEZE_TIMEOUT_MS, frozen ? "freeze" : "thaw");
  }

  /** Requests the freeze of everything, and does not wait for it. */
  beginFreeze(): void {
    writeFileSync(join(this.top, "cgroup.freeze"), "1");
  }

  /** Requests the thaw of everything except groups below that are frozen themselves, and does not wait for it. */
  beginThaw(): void {
    writeFileSync(join(this.top, "cgroup.freeze"), "0");
  }

  /** Thaws everything except the groups `except` (paths from the top), which are frozen. Does nothing when there is no cgroup. */
  async thawAll(except: readonly string[]): Promise<void> {
    if (this.event("frozen") === undefined) return;
    this.setFrozenBelow(["user", "pty"], false);
    this.setFrozenBelow(except, true);
    await this.freeze(false);
  }

  /** Freezes or thaws groups below the top, by their paths from the top. Skips groups that do not exist. */
  setFrozenBelow(paths: readonly string[], frozen: boolean): void {
    const top = open(this.top, O.RDONLY | O.DIRECTORY);
    try {
      for (const path of paths) setFrozenAt(top, path, frozen);
    } finally {
      close(top);
    }
  }

  /** Paths, from the top, of the groups that are frozen themselves, not because of a group above. */
  frozenBelow(): string[] {
    return this.groupsBelow().filter((path) =>
      unlessGone(() => readFileSync(join(this.top, path, "cgroup.freeze"), "utf8").trim() === "1", false),
    );
  }

  /** Pids of all processes of the sandbox, in the machine's process namespace. */
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

  /** Groups appear and disappear meanwhile: the agent makes one for each command and removes it when the command has ended. */
  private groupsBelow(path = ""): string[] {
    const entries = unlessGone(() => readdirSync(join(this.top, path), { withFileTypes: true }), []);
    return entries
      .filter((entry) => entry.isDirectory())
      .flatMap((entry) => {
        const below = join(path, entry.name);
        return [below, ...this.groupsBelow(below)];
      });
  }

  /** Kills everything and resolves when nothing runs any more. Repeatable. */
  async killAndWait(): Promise<void> {
    const changed = new Notice();
    const endWatch = this.onChange(changed.give);
    try {
      this.kill();
      const pause = endWatch ? () => changed.within(KILL_LOOK_MS, this.clock) : undefined;
      await this.until(() => !this.isPopulated(), KILL_TIMEOUT_MS, "end", pause);
    } finally {
      endWatch?.();
    }
  }

  /** Calls `listener` when the last process has ended, the first has begun, or everything is frozen or thawed, until the returned function is called. */
  onChange(listener: () => void): (() => void) | undefined {
    return this.fileEvents?.watch(join(this.top, "cgroup.events"), IN.MODIFY, listener);
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

  private async until(
    done: () => boolean,
    timeoutMs: number,
    verb: string,
    pause: () => Promise<void> = () => this.clock.sleep(POLL_MS),
  ): Promise<void> {
    const deadline = this.clock.monotonic() + timeoutMs;
    while (!done()) {
      if (this.clock.monotonic() > deadline) {
        throw new AppError("deadline_exceeded", `The sandbox's processes did not ${verb} within ${timeoutMs} ms`, {
          reason: `${verb}_timeout`,
        });
      }
      await pause();
    }
  }
}

function writeFiles(files: readonly CgroupFile[]): void {
  for (const file of files) {
    try {
      writeFileSync(file.path, file.text);
    } catch (error) {
      if (!file.optional || !hasErrno(error, "ENOENT")) throw error;
    }
  }
}

/** A cgroup file system has no symbolic links, so `path` stays below `top`. */
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

/** Makes a cgroup that everyone can read, whatever the umask is: the sandbox's users read their limits and counters there. */
export function makeCgroup(directory: string): void {
  mkdirSync(directory);
  chmodSync(directory, 0o755);
}

/** The result of `read`, or `fallback` when the group has been removed meanwhile. */
function unlessGone<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENODEV")) return fallback;
    throw error;
  }
}
