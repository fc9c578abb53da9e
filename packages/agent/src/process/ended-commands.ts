import type { Clock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast, type PackedBroadcast, type Reader } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";
import { packedBytes } from "./output-log.ts";

/** Larger outputs are not packed: few of them fit, and packing one would take as long as a command. */
const PACKED_BYTES = 4096;

/** What is kept of an ended command: pid, tag, end status and last output. */
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

  /** Whether it has a reader that has not received everything. */
  get isRead(): boolean {
    return this.output instanceof Broadcast && this.output.readerCount > 0;
  }

  /** Bytes of memory of its output. */
  get heldBytes(): number {
    return this.output instanceof Broadcast ? this.output.log.heldBytes : packedBytes(this.output.log);
  }

  /** As `Command.subscribe`. */
  subscribe(offset?: number): Reader<EndStatus> {
    return this.unpacked().subscribe(offset);
  }

  /** Packs a small output until the next `subscribe`, because there may be thousands of ended commands. Repeatable; does nothing while it has a reader. */
  pack(): void {
    if (this.output instanceof Broadcast && this.output.log.heldBytes <= PACKED_BYTES) this.output = this.output.pack() ?? this.output;
  }

  /** Drops the output. The end can still be read. */
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
 * Ended commands, kept for a while for late readers. Bounded by age, number and memory of output; output is dropped before the end itself. Each
 * check looks at the oldest ones only. A timer removes expired ones without further calls.
 */
export class EndedCommands {
  private readonly clock: Clock;
  /** Oldest first. A command whose pid was reused is not in `byPid` any more. */
  private readonly ends: EndedCommand[] = [];
  private readonly byPid = new Map<number, EndedCommand>();
  /** Commands with readers. Their output is not dropped, which the reader could not notice; it counts when the reader has left. */
  private readonly read = new Set<EndedCommand>();
  /** Commands without readers that have output, with its bytes; oldest first. */
  private readonly holding = new Map<EndedCommand, number>();
  private heldBytes = 0;
  private isTrimScheduled = false;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Number of ended commands. */
  get count(): number {
    return this.ends.length;
  }

  add(end: EndedCommand): void {
    this.ends.push(end);
    this.byPid.set(end.pid, end);
    this.read.add(end);
    this.trim();
    if (!this.isTrimScheduled) void this.trimRegularly();
  }

  /** Called when the kernel gave the pid to a new process: the pid no longer finds the old one. */
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

  /** Moves a command that is about to be read to `read`. */
  private found(end: EndedCommand | undefined): EndedCommand | undefined {
    if (end) {
      this.release(end);
      this.read.add(end);
    }
    return end;
  }

  private async trimRegularly(): Promise<void> {
    this.isTrimScheduled = true;
    while (this.ends.length > 0) {
      await this.clock.sleep(LIMITS.exitKeptMs);
      this.trim();
    }
    this.isTrimScheduled = false;
  }

  private trim(): void {
    const now = this.clock.monotonic();
    for (let oldest = this.ends[0]; oldest && this.isOver(oldest, now); oldest = this.ends[0]) this.drop(oldest);
    for (const end of this.read) if (!end.isRead) this.hold(end);
    if (this.heldBytes > LIMITS.exitRetentionBytes) this.forgetOutputs();
  }

  private forgetOutputs(): void {
    for (const end of this.holding.keys()) {
      this.release(end);
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
    this.release(oldest);
  }

  private hold(end: EndedCommand): void {
    this.read.delete(end);
    end.pack();
    if (end.heldBytes === 0) return;
    this.holding.set(end, end.heldBytes);
    this.heldBytes += end.heldBytes;
  }

  private release(end: EndedCommand): void {
    this.heldBytes -= this.holding.get(end) ?? 0;
    this.holding.delete(end);
  }
}
