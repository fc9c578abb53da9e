import type { Clock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import type { Broadcast, Reader } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";

/** What is left of a command that has ended: its names, how it ended, its last output. Nothing else of it is held. */
export class EndedCommand {
  readonly pid: number;
  readonly tag: string | undefined;
  readonly at: number;
  private readonly output: Broadcast<EndStatus>;

  constructor(pid: number, tag: string | undefined, output: Broadcast<EndStatus>, at: number) {
    this.pid = pid;
    this.tag = tag;
    this.output = output;
    this.at = at;
  }

  /** Whether somebody has not yet received all of its output and its end. */
  get isRead(): boolean {
    return this.output.readerCount > 0;
  }

  /** Memory that its output takes. */
  get heldBytes(): number {
    return this.output.log.heldBytes;
  }

  /** As that of a command that runs. */
  subscribe(offset?: number): Reader<EndStatus> {
    return this.output.subscribe(offset);
  }

  /** Its end can still be read. */
  forgetOutput(): void {
    this.output.log.clear();
  }
}

/**
 * Commands that have ended, kept for a while so that a late reader still learns how. Bounded by age, number and memory; output goes before
 * the fact of an end. One more costs as little as the first: only the oldest are looked at.
 */
export class EndedCommands {
  private readonly clock: Clock;
  /** Oldest first. One whose pid a later process has is no longer the one by that pid. */
  private readonly ends: EndedCommand[] = [];
  private readonly byPid = new Map<number, EndedCommand>();
  /** What somebody still reads is not ours to drop, it would be lost to him without a word; it counts when he has gone. */
  private readonly read = new Set<EndedCommand>();
  /** The others that hold output, with how much; oldest first. */
  private readonly holding = new Map<EndedCommand, number>();
  private heldBytes = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(end: EndedCommand): void {
    this.ends.push(end);
    this.byPid.set(end.pid, end);
    this.read.add(end);
    this.trim();
  }

  /** The kernel gave the number to a new process: the old one is no longer what it names. */
  forget(pid: number): void {
    this.byPid.delete(pid);
  }

  findByPid(pid: number): EndedCommand | undefined {
    this.trim();
    return this.byPid.get(pid);
  }

  /** Of several with one tag the one that ended last. */
  findByTag(tag: string): EndedCommand | undefined {
    this.trim();
    return this.ends.findLast((end) => end.tag === tag && this.byPid.get(end.pid) === end);
  }

  private trim(): void {
    const now = this.clock.monotonic();
    for (let oldest = this.ends[0]; oldest && this.isOver(oldest, now); oldest = this.ends[0]) this.drop(oldest);
    for (const end of this.read) if (!end.isRead) this.hold(end);
    if (this.heldBytes > LIMITS.exitRetentionBytes) this.forgetOutputs();
  }

  private forgetOutputs(): void {
    for (const end of this.holding.keys()) {
      this.letGo(end);
      if (end.isRead) this.read.add(end);
      else end.forgetOutput();
      if (this.heldBytes <= LIMITS.exitRetentionBytes) return;
    }
  }

  private isOver({ at }: EndedCommand, now: number): boolean {
    const { exitRetentionMs, exitRetentionCount, exitKeptMs, exitKeptCount } = LIMITS;
    const age = now - at;
    const count = this.ends.length;
    return age >= exitRetentionMs || (age >= exitKeptMs && count > exitRetentionCount) || count > exitKeptCount;
  }

  private drop(oldest: EndedCommand): void {
    this.ends.shift();
    if (this.byPid.get(oldest.pid) === oldest) this.byPid.delete(oldest.pid);
    this.read.delete(oldest);
    this.letGo(oldest);
  }

  private hold(end: EndedCommand): void {
    this.read.delete(end);
    if (end.heldBytes === 0) return;
    this.holding.set(end, end.heldBytes);
    this.heldBytes += end.heldBytes;
  }

  private letGo(end: EndedCommand): void {
    this.heldBytes -= this.holding.get(end) ?? 0;
    this.holding.delete(end);
  }
}
