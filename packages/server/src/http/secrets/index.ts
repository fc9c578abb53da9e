import { routes, type Secret } from "@boxyard/spec/platform";
import type { Credentials } from "../../keys/credentials.ts";
import type { TeamSecrets } from "../../secrets/team-secrets.ts";
import type { SecretRecord } from "../../store/index.ts";
import { pageQuery, tokenOf } from "../page-token.ts";
import { json, noContent } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of secrets use. */
export interface SecretServices {
  readonly secrets: TeamSecrets;
  readonly credentials: Credentials;
}

type HandlerOf<R> = RouteHandler<SecretServices, R>;

const createSecret: HandlerOf<typeof routes.createSecret> = async ({ body, caller }, { secrets }) =>
  json(201, present(await secrets.create(caller.teamId, body)));

const listSecrets: HandlerOf<typeof routes.listSecrets> = async ({ query, caller }, { secrets }) => {
  const { items, next } = await secrets.list(caller.teamId, pageQuery(query.nextToken, { limit: query.limit, field: "nextToken" }));
  return json(200, items.map(present), next && { "X-Next-Token": tokenOf(next) });
};

const getSecret: HandlerOf<typeof routes.getSecret> = async ({ caller, param }, { secrets }) =>
  json(200, present(await secrets.get(caller.teamId, param("secretID"))));

const updateSecret: HandlerOf<typeof routes.updateSecret> = async ({ body, caller, param }, { secrets }) =>
  json(200, present(await secrets.update(caller.teamId, param("secretID"), body)));

const deleteSecret: HandlerOf<typeof routes.deleteSecret> = async ({ caller, param }, { secrets }) => {
  await secrets.remove(caller.teamId, param("secretID"));
  return noContent();
};

const present = ({ id, name, version, metadata, createdAt, updatedAt }: SecretRecord): Secret => ({
  secretID: id,
  name,
  currentVersion: version,
  metadata: { ...metadata },
  createdAt: new Date(createdAt).toISOString(),
  updatedAt: new Date(updatedAt).toISOString(),
});

export function mountSecrets(app: Api, services: SecretServices): void {
  mount(app, services, routes.createSecret, createSecret);
  mount(app, services, routes.listSecrets, listSecrets);
  mount(app, services, routes.getSecret, getSecret);
  mount(app, services, routes.updateSecret, updateSecret);
  mount(app, services, routes.deleteSecret, deleteSecret);
}
