import type { Clock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast, type PackedBroadcast, type Reader } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";
import { packedBytes } from "./output-log.ts";

/** More than so much output stays as it is: there is room for few of that size, and packing it would take as long as a command. */
const PACKED_BYTES = 4096;

/** What is left of a command that has ended: its names, how it ended, its last output. Nothing else of it is held. */
export class EndedCommand {
  readonly pid: number;
  readonly tag: string | undefined;
  readonly at: number;
  private readonly clock: Clock;
  private output: Broadcast<EndStatus> | PackedBroadcast<EndStatus>;

  constructor(pid: number, tag: string | undefined, output: Broadcast<EndStatus>, clock: Clock) {
    this.pid = pid;
    this.tag = tag;
    this.output = output;
    this.clock = clock;
    this.at = clock.monotonic();
  }

  /** Whether somebody has not yet received all of its output and its end. */
  get isRead(): boolean {
    return this.output instanceof Broadcast && this.output.readerCount > 0;
  }

  /** Memory that its output takes. */
  get heldBytes(): number {
    return this.output instanceof Broadcast ? this.output.log.heldBytes : packedBytes(this.output.log);
  }

  /** As that of a command that runs. */
  subscribe(offset?: number): Reader<EndStatus> {
    return this.unpacked().subscribe(offset);
  }

  /** Takes less memory from now on, until the next `subscribe`: there may be thousands. Repeatable; nothing happens under a reader. */
  pack(): void {
    if (this.output instanceof Broadcast && this.output.log.heldBytes <= PACKED_BYTES) this.output = this.output.pack() ?? this.output;
  }

  /** Its end can still be read. */
  forgetOutput(): void {
    this.unpacked().log.clear();
    this.pack();
  }

  private unpacked(): Broadcast<EndStatus> {
    if (!(this.output instanceof Broadcast)) this.output = Broadcast.unpack(this.output, this.clock);
    return this.output;
  }
}

/**
 * Commands that have ended, kept for a while so that a late reader still learns how. Bounded by age, number and memory; output goes before
 * the fact of an end. One more costs as little as the first: only the oldest are looked at. What is over goes also when nothing is asked any more.
 */
export class EndedCommands {
  private readonly clock: Clock;
  /** Oldest first. One whose pid a later process has is no longer the one by that pid. */
  private readonly ends: EndedCommand[] = [];
  private readonly byPid = new Map<number, EndedCommand>();
  /** Output that a client still reads is not dropped, for that client would lose it without an error; it counts when the client has gone. */
  private readonly read = new Set<EndedCommand>();
  /** The others that hold output, with how much; oldest first. */
  private readonly holding = new Map<EndedCommand, number>();
  private heldBytes = 0;
  private isTrimComing = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** How many it holds. */
  get count(): number {
    return this.ends.length;
  }

  add(end: EndedCommand): void {
    this.ends.push(end);
    this.byPid.set(end.pid, end);
    this.read.add(end);
    this.trim();
    if (!this.isTrimComing) void this.trimNowAndThen();
  }

  /** The kernel gave the number to a new process: the old one is no longer what it names. */
  forget(pid: number): void {
    this.byPid.delete(pid);
  }

  findByPid(pid: number): EndedCommand | undefined {
    this.trim();
    return this.found(this.byPid.get(pid));
  }

  /** Of several with one tag the one that ended last. */
  findByTag(tag: string): EndedCommand | undefined {
    this.trim();
    return this.found(this.ends.findLast((end) => end.tag === tag && this.byPid.get(end.pid) === end));
  }

  /** It will be read. */
  private found(end: EndedCommand | undefined): EndedCommand | undefined {
    if (end) {
      this.letGo(end);
      this.read.add(end);
    }
    return end;
  }

  private async trimNowAndThen(): Promise<void> {
    this.isTrimComing = true;
    while (this.ends.length > 0) {
      await this.clock.sleep(LIMITS.exitKeptMs);
      this.trim();
    }
    this.isTrimComing = false;
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
    end.pack();
    if (end.heldBytes === 0) return;
    this.holding.set(end, end.heldBytes);
    this.heldBytes += end.heldBytes;
  }

  private letGo(end: EndedCommand): void {
    this.heldBytes -= this.holding.get(end) ?? 0;
    this.holding.delete(end);
  }
}
