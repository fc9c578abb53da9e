import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed, SCOPES } from "./access.ts";
import { body, errors, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["API keys"];

const KeyName = z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters");
const Scopes = z
  .array(z.enum(SCOPES))
  .min(1, "must have at least one entry")
  .max(SCOPES.length, `must have at most ${SCOPES.length} entries`);

export const NewApiKey = z
  .object({
    name: KeyName,
    scopes: Scopes.optional().meta({ description: "What it may do: docs/contract/access.md. All by default" }),
    expiresAt: z.iso.datetime({ offset: true }).optional().meta({ description: "From then on it is refused; never by default" }),
  })
  .meta(named("NewTeamAPIKey"));
const ApiKeyChange = z.object({ name: KeyName }).meta(named("UpdateTeamAPIKey"));

const fields = {
  id: z.string(),
  name: z.string(),
  mask: z.object({
    prefix: z.string(),
    valueLength: z.int(),
    maskedValuePrefix: z.string(),
    maskedValueSuffix: z.string(),
  }),
  scopes: z.array(z.enum(SCOPES)),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().optional(),
  lastUsed: z.iso.datetime().optional(),
};
export const ApiKey = z.object(fields).meta(named("TeamAPIKey"));
export type ApiKey = z.infer<typeof ApiKey>;
export const CreatedApiKey = z
  .object({
    ...fields,
    key: z.string().meta({ description: "The key itself. It is shown only in this answer: the server stores its hash" }),
  })
  .meta(named("CreatedTeamAPIKey"));
const CreatedAccessToken = z
  .object({
    ...fields,
    token: z.string().meta({ description: "The token itself, for `Authorization: Bearer`. It is shown only in this answer" }),
  })
  .meta(named("CreatedAccessToken"));

const ApiKeyPath = z.object({ apiKeyID: pathParam("apiKeyID") });
const AccessTokenPath = z.object({ accessTokenID: pathParam("accessTokenID") });

/** API keys and access tokens of the caller's team (docs/contract/access.md). */
export const keyRoutes = {
  createKey: operation({
    method: "post",
    path: "/api-keys",
    tags,
    ...allowed("admin"),
    summary: "Create an API key",
    request: { body: body(NewApiKey) },
    responses: { 201: json(CreatedApiKey, "The key itself, which no later answer shows"), ...errors(400) },
  }),
  listKeys: operation({
    method: "get",
    path: "/api-keys",
    tags,
    ...allowed("admin"),
    summary: "List API keys",
    responses: { 200: json(z.array(ApiKey), "Oldest first"), ...errors() },
  }),
  renameKey: operation({
    method: "patch",
    path: "/api-keys/{apiKeyID}",
    tags,
    ...allowed("admin"),
    summary: "Rename an API key",
    request: { params: ApiKeyPath, body: body(ApiKeyChange) },
    responses: { 200: json(ApiKey, "The key with its new name"), ...errors(400, 404) },
  }),
  revokeKey: operation({
    method: "delete",
    path: "/api-keys/{apiKeyID}",
    tags,
    ...allowed("admin"),
    summary: "Revoke an API key",
    request: { params: ApiKeyPath },
    responses: { 204: none("Revoked: requests with it are refused, and those in progress are cut"), ...errors(400, 404) },
  }),
  createAccessToken: operation({
    method: "post",
    path: "/access-tokens",
    tags,
    ...allowed("admin"),
    summary: "Create an access token",
    request: { body: body(NewApiKey) },
    responses: { 201: json(CreatedAccessToken, "The token itself, which no later answer shows"), ...errors(400) },
  }),
  listAccessTokens: operation({
    method: "get",
    path: "/access-tokens",
    tags,
    ...allowed("admin"),
    summary: "List access tokens",
    responses: { 200: json(z.array(ApiKey), "Oldest first"), ...errors() },
  }),
  revokeAccessToken: operation({
    method: "delete",
    path: "/access-tokens/{accessTokenID}",
    tags,
    ...allowed("admin"),
    summary: "Revoke an access token, with the API keys of its holder",
    request: { params: AccessTokenPath },
    responses: { 204: none("Revoked: requests with it are refused, and those in progress are cut"), ...errors(400, 404) },
  }),
} as const;
