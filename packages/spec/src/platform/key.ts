import { z } from "zod";
import { named, operation } from "../openapi.ts";
import { body, errors, json, none, pathParam, security } from "./route-parts.ts";

const tags = ["API keys"];

export const NewApiKey = z
  .object({ name: z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters") })
  .meta(named("NewTeamAPIKey"));

const fields = {
  id: z.string(),
  name: z.string(),
  mask: z.object({
    prefix: z.string(),
    valueLength: z.int(),
    maskedValuePrefix: z.string(),
    maskedValueSuffix: z.string(),
  }),
  createdAt: z.iso.datetime(),
  lastUsed: z.iso.datetime().optional(),
};
export const ApiKey = z.object(fields).meta(named("TeamAPIKey"));
export type ApiKey = z.infer<typeof ApiKey>;
const CreatedApiKey = z
  .object({
    ...fields,
    key: z.string().meta({ description: "The key itself. It is shown only in this answer: the server stores its hash" }),
  })
  .meta(named("CreatedTeamAPIKey"));

const ApiKeyPath = z.object({ apiKeyID: pathParam("apiKeyID") });

/** API keys of the caller's team (docs/contract/platform.md, API keys; the API key itself is the right to do this). */
export const keyRoutes = {
  createKey: operation({
    method: "post",
    path: "/api-keys",
    tags,
    security,
    summary: "Create an API key",
    request: { body: body(NewApiKey) },
    responses: { 201: json(CreatedApiKey, "The key itself, which no later answer shows"), ...errors(400) },
  }),
  listKeys: operation({
    method: "get",
    path: "/api-keys",
    tags,
    security,
    summary: "List API keys",
    responses: { 200: json(z.array(ApiKey), "Oldest first"), ...errors() },
  }),
  renameKey: operation({
    method: "patch",
    path: "/api-keys/{apiKeyID}",
    tags,
    security,
    summary: "Rename an API key",
    request: { params: ApiKeyPath, body: body(NewApiKey) },
    responses: { 200: json(ApiKey, "The key with its new name"), ...errors(400, 404) },
  }),
  revokeKey: operation({
    method: "delete",
    path: "/api-keys/{apiKeyID}",
    tags,
    security,
    summary: "Revoke an API key",
    request: { params: ApiKeyPath },
    responses: { 204: none("Revoked: requests with it are refused"), ...errors(400, 404) },
  }),
} as const;
