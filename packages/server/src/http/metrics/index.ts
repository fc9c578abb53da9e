import { AppError, type Clock, parseSandboxId, type TeamId } from "@boxyard/core";
import { routes, type TeamUsage } from "@boxyard/spec/platform";
import type { Caller, Credentials } from "../../keys/credentials.ts";
import type { MetricHistory } from "../../metrics/history.ts";
import { addUsage, NO_USAGE } from "../../metrics/meter.ts";
import { DAY_MS, dayOf } from "../../metrics/meters.ts";
import type { Observations } from "../../sandboxes/observations.ts";
import type { Store } from "../../store/index.ts";
import { json } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";
import { presentUsage } from "./present.ts";

/** What the handlers of team metrics and usage use. */
export interface MetricServices {
  readonly credentials: Credentials;
  readonly observations: Observations;
  readonly history: MetricHistory;
  readonly clock: Clock;
  readonly store: Pick<Store, "teamSlug">;
}

type HandlerOf<R> = RouteHandler<MetricServices, R>;

/** Days of one answer. */
const MAX_DAYS = 400;
const DEFAULT_DAYS = 30;

const getSandboxUsage: HandlerOf<typeof routes.getSandboxUsage> = async ({ caller, param }, { observations }) => {
  const record = await observations.recordOf(caller.teamId, parseSandboxId(param("sandboxID")));
  return json(200, {
    sandboxID: record.id,
    ...presentUsage(observations.usageOf(record) ?? NO_USAGE),
    ...(record.endedAt === undefined ? {} : { endedAt: new Date(record.endedAt).toISOString(), reason: record.reason }),
  });
};

const getTeamMetrics: HandlerOf<typeof routes.getTeamMetrics> = async ({ caller, param, query }, services) =>
  json(200, await services.history.ofTeam(await ownTeam(services, caller, param("teamID")), query));

const getTeamMetricsMax: HandlerOf<typeof routes.getTeamMetricsMax> = async ({ caller, param, query }, services) => {
  const teamId = await ownTeam(services, caller, param("teamID"));
  const name = query.metric === "concurrent_sandboxes" ? "concurrentSandboxes" : "sandboxStartRate";
  const highest = await services.history.highestOfTeam(teamId, query, name);
  const time = services.clock.now();
  const { timestamp, timestampUnix } = highest ?? { timestamp: new Date(time).toISOString(), timestampUnix: Math.floor(time / 1000) };
  return json(200, { timestamp, timestampUnix, value: highest?.[name] ?? 0 });
};

const getUsage: HandlerOf<typeof routes.getUsage> = async ({ caller, query }, { history, clock }) => {
  const to = query.to === undefined ? dayOf(clock.now()) : Date.parse(query.to);
  const from = query.from === undefined ? to - (DEFAULT_DAYS - 1) * DAY_MS : Date.parse(query.from);
  if (from > to) throw new AppError("invalid_argument", "from: must not be after to", { reason: "invalid_range" });
  if ((to - from) / DAY_MS >= MAX_DAYS) {
    throw new AppError("invalid_argument", `from: at most ${MAX_DAYS} days before to`, { reason: "invalid_range" });
  }
  const days = await history.daysOf(caller.teamId, from, to);
  const total = days.reduce((sum, day) => addUsage(sum, day), NO_USAGE);
  const sandboxes = days.reduce((sum, day) => sum + day.sandboxes, 0);
  return json(200, {
    days: days.map((day) => ({ date: new Date(day.day).toISOString().slice(0, 10), sandboxes: day.sandboxes, ...presentUsage(day) })),
    total: { sandboxes, ...presentUsage(total) },
  } satisfies TeamUsage);
};

/** The team that the path names, by id or slug; it must be the caller's. Throws `not_found` for others, whether they exist or not. */
async function ownTeam({ store }: MetricServices, { teamId }: Caller, named: string): Promise<TeamId> {
  if (named === teamId || named === (await store.teamSlug(teamId))) return teamId;
  throw new AppError("not_found", `There is no team '${named.slice(0, 100)}', or the API key is not its own`, { reason: "team_not_found" });
}

export function mountMetrics(app: Api, services: MetricServices): void {
  mount(app, services, routes.getSandboxUsage, getSandboxUsage);
  mount(app, services, routes.getTeamMetrics, getTeamMetrics);
  mount(app, services, routes.getTeamMetricsMax, getTeamMetricsMax);
  mount(app, services, routes.getUsage, getUsage);
}
