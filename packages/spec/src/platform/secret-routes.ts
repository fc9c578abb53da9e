import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { body, errors, json, none, operation, page, pageSize, pathParam } from "./route-parts.ts";

const tags = ["Secrets"];

const MAX_VALUE_BYTES = 64 << 10;
const MAX_METADATA = { entries: 32, keyBytes: 128, valueBytes: 1024, totalBytes: 8192 };
/** Ids begin with it, and names do not, so that a text is never both. */
const ID_PREFIX = "sec_";

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
const within = (bytes: number) => (text: string) => bytesOf(text) <= bytes;
const atMost = (bytes: number) => `must have at most ${bytes} bytes`;

/** Lower-cased before it is stored and looked up. */
const SecretName = z
  .string()
  .min(1, "must not be empty")
  .max(128, "must have at most 128 characters")
  .regex(/^[a-zA-Z0-9_-]+$/, "must be of letters, digits, '-' and '_'")
  .transform((name) => name.toLowerCase())
  .refine((name) => !name.startsWith(ID_PREFIX), `must not begin with '${ID_PREFIX}', which is for ids`);

const SecretValue = z
  .string()
  .min(1, "must not be empty")
  .refine(within(MAX_VALUE_BYTES), atMost(MAX_VALUE_BYTES))
  .refine((value) => !value.includes("\0"), "must not contain NUL");

const SecretMetadata = z
  .record(
    z.string().min(1, "must not be empty").refine(within(MAX_METADATA.keyBytes), atMost(MAX_METADATA.keyBytes)),
    z.string().refine(within(MAX_METADATA.valueBytes), atMost(MAX_METADATA.valueBytes)),
  )
  .refine((metadata) => Object.keys(metadata).length <= MAX_METADATA.entries, `must have at most ${MAX_METADATA.entries} entries`)
  .refine(
    (metadata) => Object.entries(metadata).reduce((sum, entry) => sum + bytesOf(entry.join("")), 0) <= MAX_METADATA.totalBytes,
    `must have at most ${MAX_METADATA.totalBytes} bytes in all`,
  );

const Secret = z
  .object({
    secretID: z.string(),
    name: z.string(),
    currentVersion: z.int().meta({ description: "1 for a new secret; each new value adds one" }),
    metadata: z.record(z.string(), z.string()),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta(named("Secret"));
export type Secret = z.infer<typeof Secret>;

const NewSecret = z
  .object({
    name: SecretName.meta({ description: "One secret of a team has it. It is stored in lower case" }),
    value: SecretValue.meta({ description: "No answer shows it" }),
    metadata: SecretMetadata.optional(),
  })
  .meta(named("NewSecret"));
export type NewSecret = z.infer<typeof NewSecret>;
const SecretUpdate = z
  .object({
    value: SecretValue.meta({ description: "The value of the next version. No answer shows it" }),
    metadata: SecretMetadata.optional().meta({ description: "Replaces what there is; without it that stays" }),
  })
  .meta(named("SecretUpdate"));

const params = z.object({ secretID: pathParam("secretID").meta({ description: "Id or name" }) });
const ListQuery = z.object({ limit: pageSize, nextToken: z.string().optional() });

/** Secrets of the caller's team, whose values are written and never read (docs/contract/platform.md, Secrets). */
export const secretRoutes = {
  createSecret: operation({
    method: "post",
    path: "/secrets",
    tags,
    ...allowed("admin"),
    summary: "Store a secret",
    request: { body: body(NewSecret) },
    responses: { 201: json(Secret, "The secret, without its value"), ...errors(400, 409) },
  }),
  listSecrets: operation({
    method: "get",
    path: "/secrets",
    tags,
    ...allowed("read"),
    summary: "List secrets, without their values",
    request: { query: ListQuery },
    responses: { 200: { ...json(z.array(Secret), "Oldest first"), headers: page }, ...errors(400) },
  }),
  getSecret: operation({
    method: "get",
    path: "/secrets/{secretID}",
    tags,
    ...allowed("read"),
    summary: "Get a secret, without its value",
    request: { params },
    responses: { 200: json(Secret, "The secret"), ...errors(404) },
  }),
  updateSecret: operation({
    method: "post",
    path: "/secrets/{secretID}",
    tags,
    ...allowed("admin"),
    summary: "Give a secret its next value",
    request: { params, body: body(SecretUpdate) },
    responses: { 200: json(Secret, "The secret with its new version"), ...errors(400, 404) },
  }),
  deleteSecret: operation({
    method: "delete",
    path: "/secrets/{secretID}",
    tags,
    ...allowed("admin"),
    summary: "Delete a secret",
    request: { params },
    responses: { 204: none("Deleted"), ...errors(404) },
  }),
} as const;
