import type { RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { operation as described } from "../openapi.ts";
import type { Declared } from "./access.ts";
import { ErrorBody } from "./common.ts";

/* What the descriptions of routes are made of. */

/** The description of an operation, which must say who may call it (`allowed`, `open`). */
export const operation = <P extends string, R extends Omit<RouteConfig, "path"> & { path: P } & Declared>(description: R): R =>
  described(description);

export const json = <S extends z.ZodType>(schema: S, description: string) => ({ content: { "application/json": { schema } }, description });
export const body = <S extends z.ZodType>(schema: S, required = true) => ({ content: { "application/json": { schema } }, required });
export const none = (description: string) => ({ description });

/** The longest body of an operation that says nothing else. */
const DEFAULT_BODY_BYTES = 1 << 20;
const MAX_BODY = "x-max-body-bytes";

/** Member of an operation that takes longer bodies than others. */
export const maxBody = (bytes: number) => ({ [MAX_BODY]: bytes });

/** Bytes that an operation's body may have. */
export function maxBodyBytesOf(route: object): number {
  return (route as { readonly [MAX_BODY]?: number })[MAX_BODY] ?? DEFAULT_BODY_BYTES;
}

const ERRORS: Readonly<Record<number, string>> = {
  400: "Bad request; the message names the field",
  401: "No API key, or one that is not valid",
  403: "Not allowed: the message names the scope that the key lacks",
  404: "Not found",
  409: "The sandbox or build is in a state that does not allow this",
  413: "The body is larger than this operation takes (1 MiB, or `x-max-body-bytes`)",
  422: "The idempotency key was used with another body",
  429: "A limit is reached; wait for the seconds of Retry-After",
  500: "The server failed; its log has the cause",
  501: "This server cannot do that yet",
  503: "The server is busy, and nothing has changed; repeat later",
  507: "There is no room for it",
  504: "It took too long and was undone; repeat later",
};
/** What every operation can answer; its store may be away at any time, hence 503. */
const ALWAYS = [401, 403, 429, 500, 503];
export const errors = (...codes: number[]) =>
  Object.fromEntries([...ALWAYS, ...codes].sort().map((code) => [code, json(ErrorBody, ERRORS[code] ?? "Error")]));

export const page = {
  "X-Next-Token": { schema: { type: "string" as const }, description: "Token of the next page; absent on the last page" },
};

/** A request that a client may send again: the answer is then the first one's. */
export const IdempotencyHeaders = z.object({
  "idempotency-key": z.string().optional().meta({ description: "Repeats with the same key and body get the first answer, for 24 hours" }),
});

/** Parameter of a path. */
export const pathParam = (name: string) => z.string().meta({ param: { name, in: "path" } });
/** Entries of one page, 1 to 100; 100 when a query does not say. */
export const pageSize = z.coerce.number().int().min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(100);
