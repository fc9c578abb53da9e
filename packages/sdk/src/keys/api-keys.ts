import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { unchecked } from "../connection/unchecked.ts";

/**
 * What a key may do: `read` looks at what is not secret; `sandboxes` makes, uses and ends sandboxes, snapshots and volumes; `templates` builds and
 * changes templates; `admin` does all of this, and manages keys.
 */
export type KeyScope = "read" | "sandboxes" | "templates" | "admin";

export interface NewKeyOptions extends ConnectionOptions {
  /** All by default. */
  readonly scopes?: readonly KeyScope[] | undefined;
  /** Never by default. */
  readonly expiresAt?: Date | undefined;
}

/** An API key, without the key itself. */
export interface ApiKeyInfo {
  readonly id: string;
  readonly name: string;
  /** Beginning and end of the key: `e2b_12ab…cd34`. */
  readonly hint: string;
  /** What it may do. */
  readonly scopes: readonly KeyScope[];
  readonly createdAt: Date;
  /** From then on the server refuses it; undefined: never. */
  readonly expiresAt: Date | undefined;
  /** Accurate to ten seconds. */
  readonly lastUsedAt: Date | undefined;
}

export interface NewApiKey extends ApiKeyInfo {
  /** The key itself. The server keeps only its hash and cannot show the key again. */
  readonly key: string;
}

/** The API keys of your team. To manage them, a key needs the scope `admin`. */
export class ApiKeys {
  private constructor() {}

  /** Creates a key. */
  static create(name: string, opts: NewKeyOptions = {}): Promise<NewApiKey> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: "/api-keys",
      what: "create API key",
      body: newKeyBody(name, opts),
      read: async (response) => createdKeyFromJson(await response.json()),
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

  /** Revokes a key at once, also for what is in progress. False if there is no such key. The last key that can make others cannot be revoked. */
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

export const newKeyBody = (name: string, { scopes, expiresAt }: NewKeyOptions) =>
  ({
    name,
    ...(scopes && { scopes: [...scopes] }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  }) satisfies wire.NewTeamAPIKey;

export function createdKeyFromJson(value: unknown): NewApiKey {
  const json = unchecked<wire.CreatedTeamAPIKey>(value);
  return { ...keyFromJson(json), key: String(json.key) };
}

function keyFromJson(value: unknown): ApiKeyInfo {
  const json = unchecked<wire.TeamAPIKey>(value);
  const mask = unchecked<wire.TeamAPIKey["mask"]>(json.mask);
  return {
    id: String(json.id),
    name: String(json.name),
    hint: `${mask.prefix}${mask.maskedValuePrefix}…${mask.maskedValueSuffix}`,
    scopes: Array.isArray(json.scopes) ? json.scopes.map((scope) => String(scope) as KeyScope) : [],
    createdAt: new Date(String(json.createdAt)),
    expiresAt: json.expiresAt === undefined ? undefined : new Date(String(json.expiresAt)),
    lastUsedAt: json.lastUsed === undefined ? undefined : new Date(String(json.lastUsed)),
  };
}
