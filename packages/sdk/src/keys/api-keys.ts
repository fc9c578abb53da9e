import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { unchecked } from "../connection/unchecked.ts";

/** An API key, without the key itself. */
export interface ApiKeyInfo {
  readonly id: string;
  readonly name: string;
  /** Beginning and end of the key: `e2b_12ab…cd34`. */
  readonly hint: string;
  readonly createdAt: Date;
  /** Accurate to ten seconds. */
  readonly lastUsedAt: Date | undefined;
}

export interface NewApiKey extends ApiKeyInfo {
  /** The key itself. The server keeps only its hash and cannot show the key again. */
  readonly key: string;
}

/** The API keys of your team. A key gives access to everything of the team, including the creation and revocation of keys. */
export class ApiKeys {
  private constructor() {}

  /** Creates a key. */
  static create(name: string, opts: ConnectionOptions = {}): Promise<NewApiKey> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: "/api-keys",
      what: "create API key",
      body: { name } satisfies wire.NewTeamAPIKey,
      read: async (response) => {
        const json = unchecked<wire.CreatedTeamAPIKey>(await response.json());
        return { ...keyFromJson(json), key: String(json.key) };
      },
    });
  }

  /** Lists all keys, oldest first. */
  static list(opts: ConnectionOptions = {}): Promise<ApiKeyInfo[]> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: "/api-keys",
      what: "list API keys",
      read: async (response) => ((await response.json()) as unknown[]).map(keyFromJson),
    });
  }

  /** Revokes a key at once. False if there is no such key. The last key of a team cannot be revoked. */
  static revoke(id: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "DELETE",
      path: `/api-keys/${encodeURIComponent(id)}`,
      what: `revoke API key ${id}`,
      accept: [404],
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }
}

function keyFromJson(value: unknown): ApiKeyInfo {
  const json = unchecked<wire.TeamAPIKey>(value);
  const mask = unchecked<wire.TeamAPIKey["mask"]>(json.mask);
  return {
    id: String(json.id),
    name: String(json.name),
    hint: `${mask.prefix}${mask.maskedValuePrefix}…${mask.maskedValueSuffix}`,
    createdAt: new Date(String(json.createdAt)),
    lastUsedAt: json.lastUsed === undefined ? undefined : new Date(String(json.lastUsed)),
  };
}
