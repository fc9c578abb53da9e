import { AppError, type Clock, isAppError } from "@boxyard/core";
import { errnoOf, isTransientErrno } from "@boxyard/core/node";
import type { Capacity, Reclaim, ResourceLimits, SandboxDriver } from "@boxyard/driver";
import type { Overcommit } from "../../config.ts";
import type { Promised } from "../engine/counts.ts";

export interface CapacityGateParts {
  readonly driver: Pick<SandboxDriver, "capacity" | "reclaim">;
  readonly overcommit: Overcommit;
  /** The sum of the limits of every sandbox, paused ones included. */
  readonly promised: () => Promised;
  readonly clock: Clock;
  /** How long a create waits for room before it is refused; not at all by default. */
  readonly waitMs?: number;
  /** Removes sandboxes that nobody has yet. Returns whether there were any. */
  readonly giveWay?: () => Promise<boolean>;
}

const MIB = 2 ** 20;
/** What must be free for a sandbox that starts, unless its limit is smaller: enough to start and to run a few programs. */
export const LEAST = { memoryBytes: 256 * MIB, diskBytes: 256 * MIB, processes: 64 } as const;
/** What a sandbox is counted with after its start, until the driver's next account has the true figure. */
export const STARTED = { memoryBytes: 16 * MIB, diskBytes: 16 * MIB } as const;
/**
 * How long an account of the driver is used, less the claims since then. Longer for a sandbox that runs already, which takes nothing more at once: for an
 * account the driver reads many files.
 */
const FRESH_MS = { toStart: 500, running: 5000 } as const;
const RETRY_AFTER_S = 5;
/** How often a create that waits looks whether there is room now. */
const LOOK_MS = 250;

/** What a sandbox that is being created or resumed is expected to take; once it is done, the driver's next account includes it. */
interface Claim {
  memoryBytes: number;
  diskBytes: number;
  readonly processes: number;
  /** The part of the memory that the sandbox takes for certain. */
  readonly takenBytes: number;
  isDone: boolean;
}

/** By how much an account is too small. */
interface Lacking extends Reclaim {
  readonly diskBytes: number;
}

/**
 * Refuses creates and resumes for which the machine has no room: where all limits together exceed the over-commit, or too little is free now. The
 * machine enforces its limits on the sum in any case; this gate keeps a new sandbox from taking memory that running sandboxes need.
 */
export class CapacityGate {
  private readonly parts: CapacityGateParts;
  private readonly claims = new Set<Claim>();
  private known: { readonly capacity: Capacity; readonly at: number } | undefined;

  constructor(parts: CapacityGateParts) {
    this.parts = parts;
  }

  /**
   * Runs `work`, which makes a sandbox with these limits, when there is room. Throws `unavailable`, reason `sandbox_capacity_unavailable`, when there is
   * none within `waitMs`, or `caller` aborts before. `isForPool`: nothing gives way to it, and it does not wait. `isRunning`: it exists already. `hasRoom`:
   * its memory and its processes are in the driver's account already.
   */
  async run<T>(
    wanted: ResourceLimits,
    work: () => Promise<T>,
    caller?: AbortSignal,
    { isForPool = false, isRunning = false, hasRoom = false } = {},
  ): Promise<T> {
    const { clock, waitMs = 0 } = this.parts;
    const until = clock.monotonic() + (isForPool ? 0 : waitMs);
    for (;;) {
      let hasBegun = false;
      const begin = () => {
        hasBegun = true;
        return work();
      };
      try {
        const claim = hasRoom ? { ...claimOf(wanted), memoryBytes: 0, processes: 0 } : claimOf(wanted);
        const capacity = await this.lookForRoom(claim, !isForPool, isRunning ? FRESH_MS.running : FRESH_MS.toStart);
        this.refuseOvercommit(capacity, wanted);
        return await this.claimed(capacity, claim, begin, isRunning);
      } catch (error) {
        const mayWait = !hasBegun && isAppError(error, "sandbox_capacity_unavailable") && clock.monotonic() + LOOK_MS <= until;
        if (!mayWait || caller?.aborted) throw error;
      }
      await clock.sleep(LOOK_MS, caller);
    }
  }

  /**
   * Runs `work`, which starts a sandbox that is among `promised` already (a paused sandbox, or one that `run` has admitted). `memoryBytes`: what it
   * takes at once, where that is more than what every start takes. Throws as `run` does when too little is free now.
   */
  async start<T>(wanted: ResourceLimits, work: () => Promise<T>, memoryBytes = 0): Promise<T> {
    const claim = claimOf(wanted, memoryBytes);
    return this.claimed(await this.lookForRoom(claim), claim, work);
  }

  /** Checks and calls `work` in one turn of the event loop; `work` adds a new sandbox to `promised` before it first waits. */
  private async claimed<T>(capacity: Capacity, claim: Claim, work: () => Promise<T>, isRunning = false): Promise<T> {
    this.refuseFull(capacity, claim);
    this.claims.add(claim);
    try {
      return await work();
    } finally {
      Object.assign(claim, { diskBytes: STARTED.diskBytes, memoryBytes: Math.max(STARTED.memoryBytes, claim.takenBytes), isDone: true });
      // It ran before already, so what it takes needs no claim until the next account.
      if (isRunning) this.claims.delete(claim);
    }
  }

  /** The driver's account. Where it is too small for the claim, the driver first releases what it holds only as a cache, and the pool its sandboxes. */
  private async lookForRoom(claim: Claim, asksPool = true, freshMs: number = FRESH_MS.toStart): Promise<Capacity> {
    const early = await this.look(freshMs);
    // There may be room by now: nothing is released, and nobody refused, by an account that is old.
    const capacity = isShort(this.lackingOf(early, claim)) ? await this.look() : early;
    const lacking = this.lackingOf(capacity, claim);
    const { driver, giveWay } = this.parts;
    const released = [
      (lacking.memoryBytes > 0 || lacking.processes > 0) && (await driver.reclaim(lacking)),
      asksPool && isShort(lacking) && ((await giveWay?.()) ?? false),
    ];
    if (!released.includes(true)) return capacity;
    this.known = undefined;
    return this.look();
  }

  /** What the account lacks for the claim beside all claims since then. What the claim does not take, it does not lack. */
  private lackingOf({ memoryFreeBytes, diskFreeBytes, processesFree }: Capacity, claim: Claim): Lacking {
    const lack = (of: "memoryBytes" | "diskBytes" | "processes", free: number) => {
      let sum = claim[of];
      for (const other of this.claims) sum += other[of];
      return claim[of] > 0 ? Math.max(0, sum - free) : 0;
    };
    return {
      memoryBytes: lack("memoryBytes", memoryFreeBytes),
      diskBytes: lack("diskBytes", diskFreeBytes),
      processes: lack("processes", processesFree),
    };
  }

  private async look(freshMs: number = FRESH_MS.toStart): Promise<Capacity> {
    const { driver, clock } = this.parts;
    if (this.known && clock.monotonic() - this.known.at < freshMs) return this.known.capacity;
    const capacity = await driver.capacity().catch((error: unknown) => Promise.reject(unknownRoom(error)));
    this.known = { capacity, at: clock.monotonic() };
    for (const claim of this.claims) if (claim.isDone) this.claims.delete(claim);
    return capacity;
  }

  private refuseOvercommit(capacity: Capacity, wanted: ResourceLimits): void {
    const { overcommit } = this.parts;
    const promised = this.parts.promised();
    const memoryBytes = promised.memoryBytes + wanted.memoryBytes;
    const diskBytes = promised.diskBytes + wanted.diskBytes;
    if (memoryBytes > capacity.memoryLimitBytes * overcommit.memory)
      throw refusal("memory that sandboxes were promised", "BOXYARD_MEMORY_OVERCOMMIT");
    if (diskBytes > capacity.diskLimitBytes * overcommit.disk)
      throw refusal("disk that sandboxes were promised", "BOXYARD_DISK_OVERCOMMIT");
  }

  private refuseFull(capacity: Capacity, wanted: Claim): void {
    const { memoryBytes, diskBytes, processes } = this.lackingOf(capacity, wanted);
    if (memoryBytes > 0) throw refusal("memory", "BOXYARD_RESERVE_MEMORY");
    if (processes > 0) throw refusal("processes", "BOXYARD_RESERVE_PROCESSES");
    if (diskBytes > 0) {
      throw refusal("disk space of the pool", "BOXYARD_RESERVE_POOL and BOXYARD_RESERVE_DISK", OR_MAKE_ROOM);
    }
  }
}

const isShort = ({ memoryBytes, diskBytes, processes }: Lacking) => memoryBytes > 0 || diskBytes > 0 || processes > 0;

const claimOf = (wanted: ResourceLimits, takenBytes = 0): Claim => ({
  memoryBytes: Math.min(wanted.memoryBytes, Math.max(LEAST.memoryBytes, takenBytes)),
  takenBytes,
  diskBytes: Math.min(wanted.diskBytes, LEAST.diskBytes),
  processes: LEAST.processes,
  isDone: false,
});

/** A machine whose account cannot be read for now (no descriptors are left, for example) has no room. */
function unknownRoom(error: unknown): unknown {
  if (!isTransientErrno(error)) return error;
  const message = `There is no room for another sandbox at the moment: the machine refused to tell what is free (${errnoOf(error)}); try again`;
  return new AppError("unavailable", message, {
    reason: "sandbox_capacity_unavailable",
    details: { retryAfter: RETRY_AFTER_S },
    cause: error,
  });
}

/** Other programs may have filled the disk. */
const OR_MAKE_ROOM = ", or make room on the machine's disk ('boxyard doctor' says which is short)";

function refusal(what: string, settings: string, more = ""): AppError {
  return new AppError(
    "unavailable",
    `There is no room for another sandbox: the ${what} would not suffice; end some${more} (limits: ${settings})`,
    {
      reason: "sandbox_capacity_unavailable",
      details: { retryAfter: RETRY_AFTER_S },
    },
  );
}
