import type { z } from "@hono/zod-openapi";
import { ErrorBody } from "./common.ts";

/* What the descriptions of routes are made of. */

export const json = <S extends z.ZodType>(schema: S, description: string) => ({ content: { "application/json": { schema } }, description });
export const body = <S extends z.ZodType>(schema: S, required = true) => ({ content: { "application/json": { schema } }, required });
export const none = (description: string) => ({ description });

const ERRORS: Readonly<Record<number, string>> = {
  400: "Bad request; the message names the field",
  401: "No API key, or one that is not valid",
  403: "Not allowed",
  404: "Not found",
  409: "Not in this state",
  422: "The idempotency key was used with another body",
  429: "Too many; wait for Retry-After",
  500: "Our fault",
  501: "This server cannot do that yet",
  503: "Busy, nothing has changed; repeat later",
  504: "Too slow, nothing is left; repeat later",
};
export const errors = (...codes: number[]) =>
  Object.fromEntries([401, 429, 500, ...codes].sort().map((code) => [code, json(ErrorBody, ERRORS[code] ?? "Error")]));

export const security = [{ ApiKey: [] }];
export const page = { "X-Next-Token": { schema: { type: "string" as const }, description: "Only when another page exists" } };
