import type { TeamId } from "@boxyard/core";
import { LIMIT_NAMES, type LimitName } from "@boxyard/spec/platform";
import { limitMet } from "../limit-met.ts";
import type { TeamRecord } from "../store/index.ts";

type LimitValues = Readonly<Record<LimitName, number>>;

/** How much each team may have: what the operator has set for it, else what holds for all. */
export class TeamLimits {
  private readonly defaults: LimitValues;
  private readonly overrides = new Map<TeamId, TeamRecord["limits"]>();

  /** `defaults`: the limits of each team for which the operator has set no others. */
  constructor(defaults: LimitValues) {
    this.defaults = defaults;
  }

  /** Takes the limits of these teams from their records. */
  take(records: readonly TeamRecord[]): void {
    for (const { id, limits } of records) {
      if (Object.keys(limits).length > 0) this.overrides.set(id, limits);
      else this.overrides.delete(id);
    }
  }

  /** To be called when a team has been removed. */
  forget(id: TeamId): void {
    this.overrides.delete(id);
  }

  /** One limit of a team. */
  of(id: TeamId, name: LimitName): number {
    return this.overrides.get(id)?.[name] ?? this.defaults[name];
  }

  /** All limits of a team. */
  allOf(id: TeamId): LimitValues {
    return Object.fromEntries(LIMIT_NAMES.map((name) => [name, this.of(id, name)])) as LimitValues;
  }

  /** Whether the operator has set this limit for the team. */
  isOwn(id: TeamId, name: LimitName): boolean {
    return this.overrides.get(id)?.[name] !== undefined;
  }

  /** Throws `resource_exhausted`, reason `team_limit`, when a team would have `amount` of what the limit is about. */
  check(id: TeamId, name: LimitName, amount: number, retryAfter = 5): void {
    const value = this.of(id, name);
    if (amount <= value) return;
    throw limitMet({
      limit: name,
      value,
      reason: "team_limit",
      advice: "end or remove something, or ask the operator for more",
      retryAfter,
    });
  }
}
