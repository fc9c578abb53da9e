import { type AdminTeam, LIMIT_NAMES, type LimitName, type OwnTeam, routes, type TeamState } from "@boxyard/spec/platform";
import type { TeamUse } from "../../overview/team-use.ts";
import type { TeamRecord } from "../../store/index.ts";
import type { TeamLimits } from "../../teams/limits.ts";
import type { Teams } from "../../teams/teams.ts";
import { keyOf } from "../authorize.ts";
import { type KeyServices, newKeyOf, presentKey } from "../keys/index.ts";
import { json, noContent } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of teams use. */
interface TeamServices extends KeyServices {
  readonly teams: Teams;
  readonly limits: Pick<TeamLimits, "of" | "isOwn">;
  readonly teamUse: TeamUse;
}

type HandlerOf<R> = RouteHandler<TeamServices, R>;

/** A caller with an API key knows that key; a token gets one of its own for each team. */
const listTeams: HandlerOf<typeof routes.listTeams> = async ({ caller, header }, { teams, keys }) => {
  const given = keyOf(header) ?? "";
  const own: OwnTeam[] = [];
  for (const { id, name, slug } of await teams.ofCaller(caller)) {
    const apiKey = caller.kind === "token" ? await keys.childOf(caller, id) : given;
    own.push({ teamID: id, name, slug, apiKey, isDefault: id === caller.teamId });
  }
  return json(200, own);
};

const getTeam: HandlerOf<typeof routes.getTeam> = async ({ caller }, { teams, limits, teamUse }) => {
  const team = await teams.get(caller.teamId);
  const used = teamUse.of(team.id);
  const limitOf = (name: LimitName) => ({
    value: limits.of(team.id, name),
    ...(used[name] !== undefined && { used: used[name] }),
    origin: limits.isOwn(team.id, name) ? "team" : "server",
  });
  const all = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitOf(name)])) as TeamState["limits"];
  return json(200, { ...presentNew(team), limits: all, retention: team.retention });
};

const createTeam: HandlerOf<typeof routes.createTeam> = async ({ body }, { teams, keys }) => {
  const team = await teams.create(body.slug, body.name ?? body.slug);
  const { key } = await keys.create(team.id, { name: "first" });
  return json(201, { ...presentNew(team), key });
};

const listAllTeams: HandlerOf<typeof routes.listAllTeams> = async (_input, { teams }) =>
  json(
    200,
    (await teams.list()).map((team) => presentTeam(team, teams)),
  );

const changeTeam: HandlerOf<typeof routes.changeTeam> = async ({ body, param }, { teams }) =>
  json(200, presentTeam(await teams.change(param("team"), body), teams));

const deleteTeam: HandlerOf<typeof routes.deleteTeam> = async ({ param }, { teams }) => {
  await teams.remove(param("team"));
  return noContent();
};

const createTeamKey: HandlerOf<typeof routes.createTeamKey> = async ({ body, param }, { teams, keys }) => {
  const { id } = await teams.get(param("team"));
  const { key, record } = await keys.create(id, newKeyOf(body));
  return json(201, { ...presentKey(record), key });
};

const presentNew = ({ id, slug, name, createdAt }: TeamRecord) => ({
  ...{ teamID: id, slug, name, createdAt: new Date(createdAt).toISOString() },
});

const presentTeam = (team: TeamRecord, teams: Teams): AdminTeam => ({
  ...presentNew(team),
  limits: teams.limitsOf(team.id),
  retention: team.retention,
});

export function mountTeams(app: Api, services: TeamServices): void {
  mount(app, services, routes.listTeams, listTeams);
  mount(app, services, routes.getTeam, getTeam);
  mount(app, services, routes.createTeam, createTeam);
  mount(app, services, routes.listAllTeams, listAllTeams);
  mount(app, services, routes.changeTeam, changeTeam);
  mount(app, services, routes.deleteTeam, deleteTeam);
  mount(app, services, routes.createTeamKey, createTeamKey);
}
