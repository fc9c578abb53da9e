import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { SandboxPath } from "./common.ts";
import { errors, json, operation, pathParam } from "./route-parts.ts";
import { MetricsQuery, SandboxUsage, TeamUsage } from "./sandbox.ts";

const TeamPath = z.object({ teamID: pathParam("teamID") });
const time = { timestamp: z.iso.datetime(), timestampUnix: z.int() };

export const TeamMetric = z
  .object({
    ...time,
    concurrentSandboxes: z.int(),
    sandboxStartRate: z.number().meta({ description: "Sandboxes created per second" }),
  })
  .meta(named("TeamMetric"));
const MaxTeamMetric = z.object({ ...time, value: z.number() }).meta(named("MaxTeamMetric"));
const MaxQuery = MetricsQuery.extend({ metric: z.enum(["concurrent_sandboxes", "sandbox_start_rate"]) });
const UsageQuery = z.object({
  from: z.iso.date().optional().meta({ description: "First day (UTC); 29 days before `to` by default" }),
  to: z.iso.date().optional().meta({ description: "Last day (UTC); today by default" }),
});

/** What was measured of teams, and what sandboxes have used (docs/contract/platform.md, Metrics and usage). */
export const metricRoutes = {
  getSandboxUsage: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/usage",
    tags: ["Sandboxes"],
    ...allowed("read"),
    summary: "What a sandbox has used; also of one that has ended, for two days",
    request: { params: SandboxPath },
    responses: { 200: json(SandboxUsage, "Since its creation"), ...errors(400, 404) },
  }),
  getTeamMetrics: operation({
    method: "get",
    path: "/teams/{teamID}/metrics",
    tags: ["Teams"],
    ...allowed("read"),
    summary: "Running sandboxes of the team, and how many were created",
    request: { params: TeamPath, query: MetricsQuery },
    responses: { 200: json(z.array(TeamMetric), "Oldest first"), ...errors(400, 404) },
  }),
  getTeamMetricsMax: operation({
    method: "get",
    path: "/teams/{teamID}/metrics/max",
    tags: ["Teams"],
    ...allowed("read"),
    summary: "The highest value of a metric of the team",
    request: { params: TeamPath, query: MaxQuery },
    responses: { 200: json(MaxTeamMetric, "The value, and when it was first there; 0 if nothing was measured"), ...errors(400, 404) },
  }),
  getUsage: operation({
    method: "get",
    path: "/usage",
    tags: ["Teams"],
    ...allowed("read"),
    summary: "What the sandboxes of the team have used on each day",
    request: { query: UsageQuery },
    responses: { 200: json(TeamUsage, "Oldest first; days without usage are left out"), ...errors(400) },
  }),
} as const;
