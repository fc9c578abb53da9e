import { AppError, isUuid, type TeamId } from "@boxyard/core";
import type { LimitName, Retention } from "@boxyard/spec/platform";
import type { Caller, Credentials } from "../keys/credentials.ts";
import { DEFAULT_TEAM } from "../keys/first-key.ts";
import { limitMet } from "../limit-met.ts";
import type { Store, TeamRecord } from "../store/index.ts";
import type { TeamLimits } from "./limits.ts";

export interface TeamsParts {
  readonly store: Store;
  readonly credentials: Credentials;
  readonly limits: TeamLimits;
}

/** Limits by name. */
type LimitChange = Readonly<Partial<Record<LimitName, number | "default" | undefined>>>;

/** Limit of the teams of one server. */
const MAX_TEAMS = 10_000;

/** The teams of the server. */
export class Teams {
  private readonly parts: TeamsParts;

  constructor(parts: TeamsParts) {
    this.parts = parts;
  }

  /** Throws `already_exists`, reason `team_exists`; `resource_exhausted`. */
  async create(slug: string, name: string): Promise<TeamRecord> {
    const { store } = this.parts;
    if (isUuid(slug)) throw new AppError("invalid_argument", "slug: must not look like an id", { reason: "slug_is_id" });
    if ((await store.teams.list()).length >= MAX_TEAMS) {
      throw limitMet({ limit: "teams", value: MAX_TEAMS, of: "server", reason: "too_many_teams", advice: "delete some" });
    }
    const team = await store.teams.add(slug, name);
    if (!team) throw new AppError("already_exists", `There is a team '${slug}' already`, { reason: "team_exists" });
    return team;
  }

  /** What a team may have. */
  limitsOf(id: TeamId): Record<LimitName, number> {
    return this.parts.limits.allOf(id);
  }

  /** Oldest first. */
  list(): Promise<TeamRecord[]> {
    return this.parts.store.teams.list();
  }

  /** The team with this id or slug. Throws `not_found`. */
  async get(named: string): Promise<TeamRecord> {
    const team = await this.parts.store.teams.find(named);
    if (!team) throw teamNotFound(named);
    return team;
  }

  /**
   * Changes the name of a team, its retention, all of it at once, and its limits: a number sets one, `default` gives it the server's value back, and what is not named stays. Throws `not_found`.
   */
  async change(
    named: string,
    change: { name?: string | undefined; limits?: LimitChange | undefined; retention?: Retention | undefined },
  ): Promise<TeamRecord> {
    const { store, limits } = this.parts;
    const given = Object.fromEntries(Object.entries(change.limits ?? {}).filter(([, value]) => value !== undefined));
    const changed = await store.transaction(async (tx) => {
      const team = await tx.teams.find(named);
      if (!team) throw teamNotFound(named);
      const all = Object.entries({ ...team.limits, ...given }).flatMap(([name, value]) =>
        typeof value === "number" ? [[name, value]] : [],
      );
      return tx.teams.change(team.id, {
        name: change.name ?? team.name,
        limits: Object.fromEntries(all),
        retention: change.retention ?? team.retention,
      });
    });
    if (!changed) throw teamNotFound(named);
    limits.take([changed]);
    return changed;
  }

  /** The teams that a caller may act for: the caller's own first; for the operator's tokens all. */
  async ofCaller(caller: Caller): Promise<TeamRecord[]> {
    const own = await this.get(caller.teamId);
    if (caller.kind === "key" || !this.parts.credentials.isOperator(caller)) return [own];
    return [own, ...(await this.list()).filter(({ id }) => id !== own.id)];
  }

  /**
   * Removes a team with its keys, at once. Throws `not_found`; `aborted`, reason `team_in_use`, while it has sandboxes, templates or volumes,
   * and reason `default_team` for the operator's.
   */
  async remove(named: string): Promise<void> {
    const { store, credentials, limits } = this.parts;
    const { id, slug } = await this.get(named);
    if (slug === DEFAULT_TEAM) throw new AppError("aborted", "The team 'default' is the operator's and stays", { reason: "default_team" });
    const keys = await store.teams.remove(id);
    if (keys === undefined) {
      const { sandboxes, templates, volumes } = await store.teams.holdings(id);
      const message = `Team '${slug}' has ${sandboxes} sandboxes, ${templates} templates and ${volumes} volumes: remove them first`;
      throw new AppError("aborted", message, { reason: "team_in_use", details: { sandboxes, templates, volumes } });
    }
    limits.forget(id);
    credentials.revoked(keys);
  }
}

const teamNotFound = (named: string) =>
  new AppError("not_found", `There is no team '${named.slice(0, 100)}'`, { reason: "team_not_found" });
