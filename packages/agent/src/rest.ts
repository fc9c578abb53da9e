import { ptr } from "bun:ffi";
import { readdirSync, readlinkSync } from "node:fs";
import { libc } from "./sys/native.ts";
import { untilNextTimer } from "./timers.ts";

const POLLIN = 1;

/** Durations in milliseconds. */
export interface RestParts {
  /** True while a request is under way. */
  readonly isBusy: () => boolean;
  /** Blocks until the event loop has something to do, or for `ms`. */
  readonly wait: (ms: number) => void;
  /** Without a request for so long, the agent begins to rest. */
  readonly idleMs: number;
  /** Between two rests. Timers that fire sooner are awaited in the event loop. */
  readonly leastMs: number;
  /** The first rest. Each that nothing ends is followed by one of twice its length: the runtime gives memory back in the turns between them, most of it early. */
  readonly firstMs: number;
  readonly longestMs: number;
}

export const REST = { idleMs: 5_000, leastMs: 100, firstMs: 20_000, longestMs: 600_000 } as const;

/**
 * Lets an idle agent sleep. The runtime's event loop wakes up once a second and more for clocks of its own (the field Date of answers, collections), which
 * is a noticeable load of a thousand idle sandboxes. So an idle agent blocks outside of the event loop, in poll(2) on the loop's own descriptor: what
 * would wake the loop ends the rest, and so does the agent's next timer. No answer is later for it.
 */
export class Rest {
  private readonly parts: RestParts;
  private lastAt = 0;
  private lengthMs: number;
  private timer: Timer | undefined;

  constructor(parts: RestParts) {
    this.parts = parts;
    this.lengthMs = parts.firstMs;
  }

  /** A request has come. */
  touched(): void {
    this.lastAt = performance.now();
    this.lengthMs = this.parts.firstMs;
    this.look(this.parts.idleMs);
  }

  /** Sets a timer that is none of the agent's own: those end a rest. */
  private look(afterMs: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const { isBusy, idleMs } = this.parts;
      const leftMs = isBusy() ? idleMs : this.lastAt + idleMs - performance.now();
      if (leftMs > 0) this.look(leftMs);
      // What was put off until the next turn of the loop comes first.
      else setImmediate(() => this.rest());
    }, afterMs);
  }

  private rest(): void {
    const { isBusy, wait, leastMs, longestMs } = this.parts;
    const ms = Math.min(this.lengthMs, untilNextTimer() - leastMs);
    if (!isBusy() && ms > 0) {
      const endsAt = performance.now() + this.lengthMs;
      wait(ms);
      if (performance.now() >= endsAt) this.lengthMs = Math.min(2 * this.lengthMs, longestMs);
    }
    this.look(leastMs);
  }
}

/** What poll(2) reads, made at the first rest. */
let loop: Int32Array | undefined;

/** Waits in poll(2) on the epoll descriptor of this process. Returns at once where there is not exactly one: nothing could end the wait. */
export function eventLoopWait(ms: number): void {
  loop ??= pollOf(readdirSync("/proc/self/fd").filter((fd) => kindOf(fd) === "anon_inode:[eventpoll]"));
  if (loop.length > 0) libc().poll(ptr(loop), 1, Math.ceil(ms));
}

const pollOf = (found: readonly string[]): Int32Array => new Int32Array(found.length === 1 ? [Number(found[0]), POLLIN] : []);

function kindOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The descriptor of this very listing.
    return undefined;
  }
}
