import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { unchecked } from "../connection/unchecked.ts";
import { createdKeyFromJson, type NewApiKey, type NewKeyOptions, newKeyBody } from "./api-keys.ts";

export interface TeamInfo {
  readonly id: string;
  /** Namespace of the team's templates. */
  readonly slug: string;
  readonly name: string;
  readonly createdAt: Date;
}

/** What a team may have. Sandboxes, processors and memory are of those that run; the disk is of paused ones too. */
export interface TeamLimits {
  readonly sandboxes: number;
  readonly cpus: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly templates: number;
  /** Builds that are queued or at work. */
  readonly builds: number;
  readonly createsPerMinute: number;
  /** The longest lifetime that a create, connect or timeout may ask for. */
  readonly timeoutHours: number;
}

/** What is kept of one kind; what is older, beyond the count or beyond the size is deleted. */
export interface RetentionRule {
  readonly maxAgeHours?: number | undefined;
  /** How many are kept, the newest. */
  readonly maxCount?: number | undefined;
  /** MiB of those that are kept together; not for builds. */
  readonly maxMB?: number | undefined;
}

/** What is deleted by itself; nothing by default. */
export interface Retention {
  /** Paused sandboxes, by the time of their pause. */
  readonly paused?: RetentionRule | undefined;
  /** Snapshots from which no sandbox was made that still exists. */
  readonly snapshots?: RetentionRule | undefined;
  /** Builds that no tag points to, by their last use. */
  readonly builds?: Omit<RetentionRule, "maxMB"> | undefined;
  /** Recordings that no sandbox uses; rules of templates do not hold for them. */
  readonly recordings?: RetentionRule | undefined;
  /** How long before a deletion an event announces it. Default 24. */
  readonly warnHours?: number | undefined;
}

export interface TeamWithLimits extends TeamInfo {
  readonly limits: TeamLimits;
  readonly retention: Retention;
}

export interface TeamChangeOptions extends ConnectionOptions {
  readonly name?: string | undefined;
  /** A number sets a limit, `default` gives it the server's value back; what is not named stays. */
  readonly limits?: Partial<Record<keyof TeamLimits, number | "default">> | undefined;
  /** Replaces all rules; empty: nothing is deleted by itself. */
  readonly retention?: Retention | undefined;
}

export interface NewTeam extends TeamInfo {
  /** The first API key of the team, with all scopes. The server keeps only its hash and cannot show it again. */
  readonly key: string;
}

export interface NewTeamOptions extends ConnectionOptions {
  /** The slug by default. */
  readonly name?: string | undefined;
}

/** The teams of the server: for its operator, whose API key is of the team `default` and has the scope `admin`. */
export class Teams {
  private constructor() {}

  /** Creates a team with its first API key. */
  static create(slug: string, opts: NewTeamOptions = {}): Promise<NewTeam> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: "/admin/teams",
      what: "create team",
      body: { slug, ...(opts.name !== undefined && { name: opts.name }) } satisfies wire.NewTeam,
      read: async (response) => {
        const json = unchecked<wire.CreatedTeam>(await response.json());
        return { ...teamFromJson(json), key: String(json.key) };
      },
    });
  }

  /** Lists all teams, oldest first. */
  static list(opts: ConnectionOptions = {}): Promise<TeamWithLimits[]> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: "/admin/teams",
      what: "list teams",
      read: async (response) => ((await response.json()) as unknown[]).map(limitedFromJson),
    });
  }

  /** Changes the name, the limits or the retention of a team. `team` is its slug or id. */
  static change(team: string, opts: TeamChangeOptions): Promise<TeamWithLimits> {
    const { name, limits, retention } = opts;
    return new ApiClient(resolveConfig(opts)).send({
      method: "PATCH",
      path: `/admin/teams/${encodeURIComponent(team)}`,
      what: `change team ${team}`,
      body: { ...(name !== undefined && { name }), ...(limits && { limits }), ...(retention && { retention }) } satisfies wire.TeamChange,
      repeatable: true,
      read: async (response) => limitedFromJson(await response.json()),
    });
  }

  /** Deletes a team that has no sandboxes, templates and volumes, with its keys. `team` is its slug or id. False if there is no such team. */
  static delete(team: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "DELETE",
      path: `/admin/teams/${encodeURIComponent(team)}`,
      what: `delete team ${team}`,
      accept: [404],
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }

  /** Creates an API key of a team. `team` is its slug or id. */
  static createKey(team: string, name: string, opts: NewKeyOptions = {}): Promise<NewApiKey> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: `/admin/teams/${encodeURIComponent(team)}/api-keys`,
      what: `create API key of team ${team}`,
      body: newKeyBody(name, opts),
      read: async (response) => createdKeyFromJson(await response.json()),
    });
  }
}

function limitedFromJson(value: unknown): TeamWithLimits {
  const { limits, retention } = unchecked<wire.AdminTeam>(value);
  return { ...teamFromJson(value), limits: limits as TeamLimits, retention: (retention ?? {}) as Retention };
}

function teamFromJson(value: unknown): TeamInfo {
  const json = unchecked<wire.AdminTeam>(value);
  return { id: String(json.teamID), slug: String(json.slug), name: String(json.name), createdAt: new Date(String(json.createdAt)) };
}
