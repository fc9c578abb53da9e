import { AppError } from "@boxyard/core";
import type { UidClaims } from "./uid-claims.ts";

/** Ids of each range: what Debian, and most images, expect to exist (0 to 65,534). */
export const RANGE_SIZE = 65_536;
/** Below lie people, services and the ranges that `useradd` hands out; above, ids that signed software cannot hold. */
const FIRST = 0x1000_0000;
const END = 0x7000_0000;
const SLOTS = (END - FIRST) / RANGE_SIZE;

type Claims = Pick<UidClaims, "claim" | "giveBack" | "keepOnly" | "release">;

/**
 * A range of user and group ids for each sandbox (docs/decisions.md, Ranges of user ids). Ranges are used again as late as possible; each server
 * starts at another place, so that two on one machine seldom meet, and where they do the claims keep them apart.
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

  /** Makes the ranges known that sandboxes of an earlier process have; what that one claimed beside them is free. */
  adopt(bases: readonly number[]): void {
    for (const base of bases) {
      this.used.add(base);
      // After a reboot nobody knows of it any more.
      this.claims.claim(base);
    }
    this.claims.keepOnly(this.used);
  }

  giveBack(base: number): void {
    this.used.delete(base);
    this.claims.giveBack(base);
  }

  /** When this server leaves the machine, with no sandbox left. */
  release(): void {
    this.claims.release();
  }
}
