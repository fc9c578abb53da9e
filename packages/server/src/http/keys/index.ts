import { type ApiKey, routes } from "@boxyard/spec/platform";
import { KEY_VALUE_LENGTH, maskOf } from "../../keys/api-key.ts";
import type { Credentials } from "../../keys/credentials.ts";
import type { Keys, NewKey } from "../../keys/keys.ts";
import type { ApiKeyRecord } from "../../store/index.ts";
import { json, noContent } from "../responses.ts";
import { type Api, type BodyOf, mount, type RouteHandler } from "../route.ts";

/** What the handlers of API keys and access tokens use. */
export interface KeyServices {
  readonly keys: Keys;
  readonly credentials: Credentials;
}

type HandlerOf<R> = RouteHandler<KeyServices, R>;

const createKey: HandlerOf<typeof routes.createKey> = async ({ body, caller }, { keys }) => {
  const { key, record } = await keys.create(caller.teamId, newKeyOf(body));
  return json(201, { ...presentKey(record), key });
};

const listKeys: HandlerOf<typeof routes.listKeys> = async ({ caller }, { keys }) =>
  json(200, (await keys.list(caller.teamId)).map(presentKey));

const renameKey: HandlerOf<typeof routes.renameKey> = async ({ body, caller, param }, { keys }) =>
  json(200, presentKey(await keys.rename(caller.teamId, param("apiKeyID"), body.name)));

const revokeKey: HandlerOf<typeof routes.revokeKey> = async ({ caller, param, outliveKey }, { keys }) => {
  outliveKey();
  await keys.revoke(caller.teamId, param("apiKeyID"));
  return noContent();
};

const createAccessToken: HandlerOf<typeof routes.createAccessToken> = async ({ body, caller }, { keys }) => {
  const { key, record } = await keys.create(caller.teamId, newKeyOf(body), "token");
  return json(201, { ...presentKey(record), token: key });
};

const listAccessTokens: HandlerOf<typeof routes.listAccessTokens> = async ({ caller }, { keys }) =>
  json(200, (await keys.list(caller.teamId, "token")).map(presentKey));

const revokeAccessToken: HandlerOf<typeof routes.revokeAccessToken> = async ({ caller, param, outliveKey }, { keys }) => {
  outliveKey();
  await keys.revoke(caller.teamId, param("accessTokenID"), "token");
  return noContent();
};

/** What a body asks for. */
export const newKeyOf = ({ name, scopes, expiresAt }: BodyOf<typeof routes.createKey>): NewKey => ({
  ...{ name, scopes, expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt) },
});

export function presentKey(record: ApiKeyRecord): ApiKey {
  const { prefix, start, end } = maskOf(record.hint);
  return {
    id: record.id,
    name: record.name,
    mask: { prefix, valueLength: KEY_VALUE_LENGTH, maskedValuePrefix: start, maskedValueSuffix: end },
    scopes: [...record.scopes],
    createdAt: new Date(record.createdAt).toISOString(),
    ...(record.expiresAt === undefined ? {} : { expiresAt: new Date(record.expiresAt).toISOString() }),
    ...(record.lastUsedAt === undefined ? {} : { lastUsed: new Date(record.lastUsedAt).toISOString() }),
  };
}

export function mountKeys(app: Api, services: KeyServices): void {
  mount(app, services, routes.createKey, createKey);
  mount(app, services, routes.listKeys, listKeys);
  mount(app, services, routes.renameKey, renameKey);
  mount(app, services, routes.revokeKey, revokeKey);
  mount(app, services, routes.createAccessToken, createAccessToken);
  mount(app, services, routes.listAccessTokens, listAccessTokens);
  mount(app, services, routes.revokeAccessToken, revokeAccessToken);
}
