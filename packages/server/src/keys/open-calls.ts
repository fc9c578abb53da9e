import type { Clock } from "@boxyard/core";

/** Ids of revoked keys that are remembered, for calls that were being admitted meanwhile. */
const MAX_REVOKED = 10_000;
/** A longer wait than this is made in parts: timers of the runtime hold 24 days at most. */
const MAX_WAIT_MS = 24 * 3600_000;

/** The calls that are in progress, by the key that admitted them, so that a key's end ends them too. */
export class OpenCalls {
  private readonly clock: Clock;
  private readonly byKey = new Map<string, Set<() => void>>();
  private readonly revoked = new Set<string>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Notes a call, which `cut` ends when the key is revoked or expires (`expiresAt`: milliseconds since 1970). The returned function says that it has ended. */
  hold(keyId: string, expiresAt: number | undefined, cut: () => void): () => void {
    if (this.revoked.has(keyId)) {
      cut();
      return () => {};
    }
    const calls = this.byKey.get(keyId) ?? new Set();
    this.byKey.set(keyId, calls);
    const entry = () => cut();
    calls.add(entry);
    const over = expiresAt === undefined ? undefined : new AbortController();
    if (over && expiresAt !== undefined) void this.cutAt(expiresAt, entry, over.signal);
    return () => {
      over?.abort();
      calls.delete(entry);
      if (calls.size === 0 && this.byKey.get(keyId) === calls) this.byKey.delete(keyId);
    };
  }

  /** Ends the calls of a key, and those that are being admitted by it. */
  revoke(keyId: string): void {
    this.revoked.add(keyId);
    if (this.revoked.size > MAX_REVOKED) for (const oldest of [...this.revoked].slice(0, MAX_REVOKED / 2)) this.revoked.delete(oldest);
    const calls = this.byKey.get(keyId) ?? [];
    this.byKey.delete(keyId);
    for (const cut of calls) cut();
  }

  /** Number of calls in progress. */
  get size(): number {
    let sum = 0;
    for (const calls of this.byKey.values()) sum += calls.size;
    return sum;
  }

  private async cutAt(time: number, cut: () => void, over: AbortSignal): Promise<void> {
    try {
      for (let left = time - this.clock.now(); left > 0; left = time - this.clock.now()) {
        await this.clock.sleep(Math.min(left, MAX_WAIT_MS), over);
      }
      cut();
    } catch {
      // The call has ended before.
    }
  }
}
