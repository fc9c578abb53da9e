import type { Clock, TeamId } from "@boxyard/core";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import type { TeamCount } from "../engine/counts.ts";

/** The limits of a team that new and resumed sandboxes meet. */
type QuotaName = "sandboxes" | "cpus" | "memoryMB" | "diskMB" | "createsPerMinute";

/** What this needs of the limits of teams. */
export interface QuotaLimits {
  of(teamId: TeamId, name: QuotaName): number;
  /** Throws `resource_exhausted`, reason `team_limit`. `retryAfter`: seconds. */
  check(teamId: TeamId, name: QuotaName, amount: number, retryAfter?: number): void;
}

export interface TeamQuotaParts {
  readonly limits: QuotaLimits;
  readonly clock: Clock;
}

const MINUTE_MS = 60_000;
const MIB = 2 ** 20;
/** Teams whose creates are counted; the counts of those that have made nothing for longest are dropped beyond it. */
const MAX_COUNTED = 10_000;

/** Creates that a team may begin now: a minute's worth at most, which comes back evenly. */
interface Allowance {
  readonly left: number;
  readonly at: number;
  /** Creates that were begun in the minute of `at`, and in the minute before it; a minute is one of the server's clock. */
  readonly begun: number;
  readonly begunBefore: number;
}

/** Keeps each team within its limits of sandboxes. A check and what it allows happen in one turn of the event loop. */
export class TeamQuota {
  private readonly parts: TeamQuotaParts;
  private readonly allowances = new Map<TeamId, Allowance>();

  constructor(parts: TeamQuotaParts) {
    this.parts = parts;
  }

  /** How many creates a team has begun within a minute, as far as whole minutes tell: those of the minute before count by the part that is left of it. */
  createsOf(teamId: TeamId): number {
    const now = this.parts.clock.monotonic();
    const { begun, begunBefore } = this.begunBy(teamId, now);
    return Math.round(begun + begunBefore * (1 - (now % MINUTE_MS) / MINUTE_MS));
  }

  private begunBy(teamId: TeamId, now: number): { begun: number; begunBefore: number } {
    const { at, begun, begunBefore } = this.allowances.get(teamId) ?? { at: now, begun: 0, begunBefore: 0 };
    const minutes = Math.floor(now / MINUTE_MS) - Math.floor(at / MINUTE_MS);
    if (minutes === 0) return { begun, begunBefore };
    return { begun: 0, begunBefore: minutes === 1 ? begun : 0 };
  }

  private availableTo(teamId: TeamId, perMinute: number): number {
    const now = this.parts.clock.monotonic();
    const { left, at } = this.allowances.get(teamId) ?? { left: perMinute, at: now };
    return Math.min(perMinute, left + ((now - at) * perMinute) / MINUTE_MS);
  }

  /** Counts a create that begins. Throws `resource_exhausted`, reason `team_limit`, when the team has begun too many in the last minute. */
  begin(teamId: TeamId): void {
    const { limits, clock } = this.parts;
    const perMinute = limits.of(teamId, "createsPerMinute");
    const now = clock.monotonic();
    const available = this.availableTo(teamId, perMinute);
    if (available < 1) {
      // With a limit of 0 nothing comes back: the client asks again in a minute.
      const waitMs = perMinute < 1 ? MINUTE_MS : ((1 - available) * MINUTE_MS) / perMinute;
      limits.check(teamId, "createsPerMinute", perMinute + 1, Math.max(1, Math.ceil(waitMs / 1000)));
    }
    const { begun, begunBefore } = this.begunBy(teamId, now);
    this.allowances.delete(teamId);
    this.allowances.set(teamId, { left: available - 1, at: now, begun: begun + 1, begunBefore });
    const [oldest] = this.allowances.keys();
    if (this.allowances.size > MAX_COUNTED && oldest !== undefined) this.allowances.delete(oldest);
  }

  /** A create that was begun begins once more, in another way: it counts once. */
  beginsAgain(teamId: TeamId): void {
    const known = this.allowances.get(teamId);
    if (known) this.allowances.set(teamId, { ...known, left: known.left + 1, begun: Math.max(0, known.begun - 1) });
  }

  /**
   * Throws `resource_exhausted`, reason `team_limit`, when the team would have too much with this sandbox running. Paused sandboxes count for their disk
   * alone. `others`: the other sandboxes of the team.
   */
  check(wanted: SandboxRecord, others: TeamCount): void {
    const { limits } = this.parts;
    const { teamId } = wanted;
    const own = resourcesOf(wanted);
    limits.check(teamId, "sandboxes", others.sandboxes + 1);
    limits.check(teamId, "cpus", others.cpus + own.cpuCount);
    limits.check(teamId, "memoryMB", (others.memoryBytes + own.memoryBytes) / MIB);
    limits.check(teamId, "diskMB", (others.diskBytes + own.diskBytes) / MIB);
  }
}
