import { type ApiKey, routes } from "@boxyard/spec/platform";
import { KEY_PREFIX, KEY_VALUE_LENGTH, maskOf } from "../../keys/api-key.ts";
import type { Keys } from "../../keys/keys.ts";
import type { ApiKeyRecord } from "../../store/index.ts";
import { json, noContent } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of API keys use. */
interface KeyServices {
  readonly keys: Keys;
}

type HandlerOf<R> = RouteHandler<KeyServices, R>;

const createKey: HandlerOf<typeof routes.createKey> = async ({ body, caller }, { keys }) => {
  const { key, record } = await keys.create(caller, body.name);
  return json(201, { ...present(record), key });
};

const listKeys: HandlerOf<typeof routes.listKeys> = async ({ caller }, { keys }) => json(200, (await keys.list(caller)).map(present));

const renameKey: HandlerOf<typeof routes.renameKey> = async ({ body, caller, param }, { keys }) =>
  json(200, present(await keys.rename(caller, param("apiKeyID"), body.name)));

const revokeKey: HandlerOf<typeof routes.revokeKey> = async ({ caller, param }, { keys }) => {
  await keys.revoke(caller, param("apiKeyID"));
  return noContent();
};

function present(record: ApiKeyRecord): ApiKey {
  const { start, end } = maskOf(record.hint);
  return {
    id: record.id,
    name: record.name,
    mask: { prefix: KEY_PREFIX, valueLength: KEY_VALUE_LENGTH, maskedValuePrefix: start, maskedValueSuffix: end },
    createdAt: new Date(record.createdAt).toISOString(),
    ...(record.lastUsedAt === undefined ? {} : { lastUsed: new Date(record.lastUsedAt).toISOString() }),
  };
}

export function mountKeys(app: Api, services: KeyServices): void {
  mount(app, services, routes.createKey, createKey);
  mount(app, services, routes.listKeys, listKeys);
  mount(app, services, routes.renameKey, renameKey);
  mount(app, services, routes.revokeKey, revokeKey);
}
