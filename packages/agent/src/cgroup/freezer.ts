import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, type Clock } from "@boxyard/core";
import { after } from "../timers.ts";

export interface FreezeOptions {
  /** `legacy`: the two subtrees of commands. `hierarchy`: also the groups that the guest made beside them. */
  readonly mode: "legacy" | "hierarchy";
  /** How long to wait until every group is frozen. */
  readonly maxWaitMs: number;
  /** How many groups are examined at most. */
  readonly maxCgroups: number;
}

/** Counts of one freeze, with the member names of the contract (docs/contract/agent.md, Freeze). */
export interface FreezeResult {
  readonly mode: FreezeOptions["mode"];
  readonly visited: number;
  readonly allowlisted: number;
  readonly truncated: boolean;
  readonly preFrozen: number;
  readonly requested: number;
  readonly frozen: number;
  readonly notFrozen: number;
  readonly failed: number;
  readonly unobservable: number;
  readonly sweepMs: number;
  readonly waitMs: number;
}

/** The two subtrees that commands live in; `thaw` thaws them, also when the guest froze them. */
const STATIC = ["user", "pty"];
const POLL_MS = 2;

/**
 * Freezes and thaws the sandbox's commands through the freezer of cgroup v2, by plain writes of the agent, which is in none of these groups and
 * goes on answering. Freezing a group freezes all groups below it, so only those at the top are written. A group that the guest froze, at the
 * top or below, stays frozen.
 */
export class Freezer {
  private readonly root: string;
  private readonly clock: Clock;
  private readonly watchdogMs: number;
  /** Groups other than the static two that this object froze. */
  private frozenByUs = new Set<string>();
  private cancelWatchdog = () => {};
  private tail: Promise<unknown> = Promise.resolve();

  constructor(root: string, clock: Clock, watchdogMs: number) {
    this.root = root;
    this.clock = clock;
    this.watchdogMs = watchdogMs;
  }

  /** Repeatable. Throws `unavailable` where the sandbox has no cgroup of its own. */
  freeze(options: FreezeOptions): Promise<FreezeResult> {
    return this.inTurn(() => this.doFreeze(options));
  }

  /** Repeatable; fine when nothing is frozen or there is nothing to freeze. Throws `unavailable` when the kernel refuses. */
  thaw(): Promise<void> {
    return this.inTurn(async () => this.doThaw());
  }

  private async doFreeze({ mode, maxWaitMs, maxCgroups }: FreezeOptions): Promise<FreezeResult> {
    const startedAt = this.clock.monotonic();
    const pair = STATIC.filter((name) => this.exists(name));
    if (pair.length === 0) throw new AppError("unavailable", "the sandbox has no cgroup that could be frozen", { reason: "no_cgroup" });
    const others = mode === "hierarchy" ? this.others(maxCgroups) : { names: [], visited: 0, preFrozen: 0, truncated: false };
    const targets = [...pair, ...others.names];
    const written = targets.filter((name) => this.write(name, "1"));
    for (const name of others.names) if (written.includes(name)) this.frozenByUs.add(name);
    this.armWatchdog();
    const sweptAt = this.clock.monotonic();
    const notFrozen = await this.waitUntilFrozen(written, maxWaitMs);
    return {
      mode,
      visited: pair.length + others.visited,
      allowlisted: 0,
      truncated: others.truncated,
      preFrozen: others.preFrozen,
      requested: targets.length,
      frozen: written.length - notFrozen,
      notFrozen,
      failed: targets.length - written.length,
      unobservable: 0,
      sweepMs: Math.round(sweptAt - startedAt),
      waitMs: Math.round(this.clock.monotonic() - sweptAt),
    };
  }

  private doThaw(): void {
    this.cancelWatchdog();
    const targets = [...STATIC.filter((name) => this.exists(name)), ...this.frozenByUs];
    const failed = targets.filter((name) => !this.write(name, "0") && this.exists(name));
    this.frozenByUs = new Set(failed.filter((name) => !STATIC.includes(name)));
    if (failed.length === 0) return;
    this.armWatchdog();
    throw new AppError("unavailable", `the kernel did not thaw ${failed.join(", ")}`, { reason: "not_thawed" });
  }

  /** Groups at the top that are not in `STATIC` and that the guest did not freeze. */
  private others(maxCgroups: number): { names: string[]; visited: number; preFrozen: number; truncated: boolean } {
    const all = readdirSync(this.root, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !STATIC.includes(entry.name));
    const visited = all.slice(0, maxCgroups).map((entry) => entry.name);
    const names = visited.filter((name) => this.frozenByUs.has(name) || this.read(name, "cgroup.freeze").trim() === "0");
    return { names, visited: visited.length, preFrozen: visited.length - names.length, truncated: all.length > visited.length };
  }

  private async waitUntilFrozen(names: readonly string[], maxWaitMs: number): Promise<number> {
    const deadline = this.clock.monotonic() + maxWaitMs;
    let left = names;
    for (;;) {
      left = left.filter((name) => this.exists(name) && !this.read(name, "cgroup.events").includes("frozen 1"));
      if (left.length === 0 || this.clock.monotonic() >= deadline) return left.length;
      await this.clock.sleep(POLL_MS);
    }
  }

  private armWatchdog(): void {
    this.cancelWatchdog();
    this.cancelWatchdog = after(this.watchdogMs, () => void this.thaw().catch(() => {}));
  }

  private exists(name: string): boolean {
    return this.read(name, "cgroup.freeze") !== "";
  }

  private read(name: string, file: string): string {
    try {
      return readFileSync(join(this.root, name, file), "utf8");
    } catch {
      return "";
    }
  }

  private write(name: string, value: string): boolean {
    try {
      writeFileSync(join(this.root, name, "cgroup.freeze"), value);
      return true;
    } catch {
      return false;
    }
  }

  /** Runs one call at a time, in order; a failed call does not stop the next. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work, work);
    this.tail = result.catch(() => {});
    return result;
  }
}
