import { AppError } from "@boxyard/core";
import type { UidClaims } from "./uid-claims.ts";

/** Ids of each range: what Debian, and most images, expect to exist (0 to 65,534). */
export const RANGE_SIZE = 65_536;
/** Below are ids of users, services and the ranges that `useradd` allocates; above, ids that programs with signed 32-bit ids cannot hold. */
const FIRST = 0x1000_0000;
const END = 0x7000_0000;
const SLOTS = (END - FIRST) / RANGE_SIZE;

type Claims = Pick<UidClaims, "claim" | "free" | "keepOnly" | "release">;

/**
 * Allocates a range of user and group ids for each sandbox (docs/decisions.md, Ranges of user ids). Ranges are used again as late as possible. Each
 * server begins at another range, so that two servers on one machine seldom try the same one; when they do, the claims decide.
 */
export class UidRanges {
  private readonly used = new Set<number>();
  private readonly claims: Claims;
  private next: number;

  constructor(instance: string, claims: Claims) {
    this.claims = claims;
    this.next = Number.parseInt(instance.slice(0, 8), 16) % SLOTS || 0;
  }

  /** Returns the first id of a free range. Throws `resource_exhausted` when all are taken. */
  take(): number {
    for (let tried = 0; tried < SLOTS; tried++) {
      const base = FIRST + this.next * RANGE_SIZE;
      this.next = (this.next + 1) % SLOTS;
      if (this.used.has(base) || !this.claims.claim(base)) continue;
      this.used.add(base);
      return base;
    }
    throw new AppError("resource_exhausted", "Every range of user ids is in use on this machine; end some sandboxes", {
      reason: "uid_ranges_exhausted",
    });
  }

  /** Registers the ranges of sandboxes of an earlier process, and frees what that process claimed besides. */
  adopt(bases: readonly number[]): void {
    for (const base of bases) {
      this.used.add(base);
      // After a reboot the claim is gone.
      this.claims.claim(base);
    }
    this.claims.keepOnly(this.used);
  }

  free(base: number): void {
    this.used.delete(base);
    this.claims.free(base);
  }

  /** When this server leaves the machine, with no sandbox left. */
  release(): void {
    this.claims.release();
  }
}
