import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { CreatedApiKey, NewApiKey } from "./key.ts";
import { Retention } from "./retention.ts";
import { body, errors, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["Teams"];

const TeamName = z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters");
const TeamSlug = z
  .string()
  .max(40, "must have at most 40 characters")
  .regex(/^[a-z0-9][a-z0-9_-]*$/, "must be of lower-case letters, digits, '-' and '_', and begin with a letter or digit");

const OwnTeam = z
  .object({
    teamID: z.string(),
    name: z.string(),
    slug: z.string(),
    apiKey: z.string().meta({ description: "An API key of the caller for this team; it ends with the caller's key or token" }),
    isDefault: z.boolean().meta({ description: "Whether it is the team of the caller's key" }),
  })
  .meta(named("Team"));
export type OwnTeam = z.infer<typeof OwnTeam>;

/** What a team may have; docs/configuration.md, BOXYARD_TEAM_LIMITS. */
export const LIMIT_NAMES = ["sandboxes", "cpus", "memoryMB", "diskMB", "templates", "builds", "createsPerMinute", "timeoutHours"] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
export const isLimitName = (text: string): text is LimitName => (LIMIT_NAMES as readonly string[]).includes(text);

const MAX_LIMIT = 1e13;
const eachLimit = <S extends z.ZodType>(schema: S) =>
  z.object(Object.fromEntries(LIMIT_NAMES.map((name) => [name, schema])) as Record<LimitName, S>);
const Limit = z.int("must be a whole number").min(0, "must not be negative").max(MAX_LIMIT, `must be at most ${MAX_LIMIT}`);

const fields = { teamID: z.string(), slug: z.string(), name: z.string(), createdAt: z.iso.datetime() };
const AdminTeam = z
  .object({
    ...fields,
    limits: eachLimit(z.int()).meta({ description: "What holds for the team" }),
    retention: Retention.meta({ description: "What is deleted by itself; empty: nothing" }),
  })
  .meta(named("AdminTeam"));
export type AdminTeam = z.infer<typeof AdminTeam>;
const TeamState = z
  .object({
    ...fields,
    limits: eachLimit(
      z.object({
        value: z.int(),
        used: z.number().optional().meta({ description: "What the team has of it now; absent where nothing is counted" }),
        origin: z.enum(["server", "team"]).meta({ description: "`team`: the operator has set it for this team" }),
      }),
    ),
    retention: Retention,
  })
  .meta(named("TeamState"));
export type TeamState = z.infer<typeof TeamState>;
const CreatedTeam = z
  .object({ ...fields, key: z.string().meta({ description: "The first API key of the team. It is shown only in this answer" }) })
  .meta(named("CreatedTeam"));

const NewTeam = z
  .object({
    slug: TeamSlug.meta({ description: "Namespace of its templates; it never changes" }),
    name: TeamName.optional().meta({ description: "The slug by default" }),
  })
  .meta(named("NewTeam"));

const TeamChange = z
  .object({
    name: TeamName.optional(),
    limits: eachLimit(z.union([Limit, z.literal("default")]).optional())
      .optional()
      .meta({ description: "A number sets a limit, `default` gives it the server's value back; what is not named stays" }),
    retention: Retention.optional().meta({ description: "Replaces all rules; empty: nothing is deleted by itself" }),
  })
  .meta(named("TeamChange"));

const params = z.object({ team: pathParam("team").meta({ description: "Id or slug of a team" }) });

/** Teams: the caller's own, and all of the server for its operator (docs/contract/access.md). */
export const teamRoutes = {
  listTeams: operation({
    method: "get",
    path: "/teams",
    tags,
    ...allowed("read"),
    summary: "Teams that the caller's key or token may act for, each with an API key",
    responses: { 200: json(z.array(OwnTeam), "The caller's team first"), ...errors() },
  }),
  getTeam: operation({
    method: "get",
    path: "/boxyard/team",
    tags,
    ...allowed("read"),
    summary: "The caller's team: what it may have, and what it has of that",
    responses: { 200: json(TeamState, "As it is now"), ...errors() },
  }),
  createTeam: operation({
    method: "post",
    path: "/admin/teams",
    tags,
    ...allowed("admin", "server"),
    summary: "Create a team with its first API key",
    request: { body: body(NewTeam) },
    responses: { 201: json(CreatedTeam, "The team, with its first API key"), ...errors(400, 409) },
  }),
  listAllTeams: operation({
    method: "get",
    path: "/admin/teams",
    tags,
    ...allowed("admin", "server"),
    summary: "List all teams of the server",
    responses: { 200: json(z.array(AdminTeam), "Oldest first"), ...errors() },
  }),
  changeTeam: operation({
    method: "patch",
    path: "/admin/teams/{team}",
    tags,
    ...allowed("admin", "server"),
    summary: "Change the name, the limits or the retention of a team",
    request: { params, body: body(TeamChange) },
    responses: { 200: json(AdminTeam, "The team as it is now"), ...errors(400, 404) },
  }),
  deleteTeam: operation({
    method: "delete",
    path: "/admin/teams/{team}",
    tags,
    ...allowed("admin", "server"),
    summary: "Delete a team that has no sandboxes, templates and volumes, with its keys",
    request: { params },
    responses: { 204: none("Deleted: its keys are refused"), ...errors(400, 404, 409) },
  }),
  createTeamKey: operation({
    method: "post",
    path: "/admin/teams/{team}/api-keys",
    tags,
    ...allowed("admin", "server"),
    summary: "Create an API key of a team",
    request: { params, body: body(NewApiKey) },
    responses: { 201: json(CreatedApiKey, "The key itself, which no later answer shows"), ...errors(400, 404) },
  }),
} as const;
