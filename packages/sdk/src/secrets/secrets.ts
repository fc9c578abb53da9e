import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { unchecked } from "../connection/unchecked.ts";
import { withQuery } from "../connection/with-query.ts";
import { Paginator } from "../sandbox/paginator.ts";

export interface SecretOptions extends ConnectionOptions {
  /** Texts of your own: 32 at most, with keys of up to 128 and values of up to 1024 bytes. They are not secret. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export interface SecretListOptions extends ConnectionOptions {
  /** Secrets of a page, 1 to 100. Default 100. */
  readonly limit?: number | undefined;
}

/** A secret, without its value. */
export interface SecretInfo {
  readonly secretId: string;
  readonly name: string;
  /** 1 for a new secret; each new value adds one. */
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const NO_SECRET = "secret_not_found";
const pathOf = (idOrName: string) => `/secrets/${encodeURIComponent(idOrName)}`;

/**
 * The secrets of your team. Values are written and never read: the server gives them to what you name them for. To write them, a key needs the
 * scope `admin`.
 */
export class Secrets {
  private constructor() {}

  /** The text that programs in a sandbox use in place of the value, where `network.secrets` puts that into their requests. */
  static standIn(name: string): string {
    return `boxyard.${name.toLowerCase()}.secret`;
  }

  /**
   * Stores a secret of up to 64 KiB. `name` has letters, digits, `-` and `_`, and is stored in lower case; one that your team has already is a
   * `ConflictError`.
   */
  static create(name: string, value: string, opts: SecretOptions = {}): Promise<SecretInfo> {
    const { metadata } = opts;
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: "/secrets",
      what: `create secret ${name}`,
      body: { name, value, ...(metadata && { metadata: { ...metadata } }) } satisfies wire.NewSecret,
      read: async (response) => secretFromJson(await response.json()),
    });
  }

  /** Gives a secret its next value. `metadata` replaces what there is. Throws a `NotFoundError`. */
  static update(idOrName: string, value: string, opts: SecretOptions = {}): Promise<SecretInfo> {
    const { metadata } = opts;
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: pathOf(idOrName),
      what: `update secret ${idOrName}`,
      notFoundReason: NO_SECRET,
      body: { value, ...(metadata && { metadata: { ...metadata } }) } satisfies wire.SecretUpdate,
      read: async (response) => secretFromJson(await response.json()),
    });
  }

  /** Gets a secret by its id or name. Throws a `NotFoundError`. */
  static get(idOrName: string, opts: ConnectionOptions = {}): Promise<SecretInfo> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: pathOf(idOrName),
      what: `get secret ${idOrName}`,
      notFoundReason: NO_SECRET,
      read: async (response) => secretFromJson(await response.json()),
    });
  }

  /** Lists all secrets, oldest first. */
  static list(opts: SecretListOptions = {}): Paginator<SecretInfo> {
    const api = new ApiClient(resolveConfig(opts));
    return new Paginator((token) => {
      const query = new URLSearchParams();
      if (opts.limit !== undefined) query.set("limit", String(opts.limit));
      if (token !== undefined) query.set("nextToken", token);
      return api.send({
        method: "GET",
        path: `/secrets${withQuery(query)}`,
        what: "list secrets",
        read: async (response) => {
          const items = ((await response.json()) as unknown[]).map(secretFromJson);
          return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
        },
      });
    });
  }

  /** Deletes a secret. False if there is none. */
  static delete(idOrName: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "DELETE",
      path: pathOf(idOrName),
      what: `delete secret ${idOrName}`,
      accept: [404],
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }
}

function secretFromJson(value: unknown): SecretInfo {
  const json = unchecked<wire.Secret>(value);
  return {
    secretId: String(json.secretID),
    name: String(json.name),
    version: Number(json.currentVersion),
    metadata: (json.metadata ?? {}) as Record<string, string>,
    createdAt: new Date(String(json.createdAt)),
    updatedAt: new Date(String(json.updatedAt)),
  };
}
