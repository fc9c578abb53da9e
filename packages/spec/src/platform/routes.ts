import { createRoute, z } from "@hono/zod-openapi";
import { ErrorBody, SandboxPath } from "./common.ts";
import * as s from "./sandbox.ts";

const json = <S extends z.ZodType>(schema: S, description: string) => ({ content: { "application/json": { schema } }, description });
const body = <S extends z.ZodType>(schema: S, required = true) => ({ content: { "application/json": { schema } }, required });
const none = (description: string) => ({ description });

const ERRORS: Readonly<Record<number, string>> = {
  400: "Bad request; the message names the field",
  401: "No API key, or one that is not valid",
  403: "Not allowed",
  404: "Not found",
  409: "Not in this state",
  422: "The idempotency key was used with another body",
  429: "Too many; wait for Retry-After",
  500: "Our fault",
  503: "Busy, nothing has changed; repeat later",
  504: "Too slow, nothing is left; repeat later",
};
const errors = (...codes: number[]) =>
  Object.fromEntries([401, 429, 500, ...codes].sort().map((code) => [code, json(ErrorBody, ERRORS[code] ?? "Error")]));

const tags = ["Sandboxes"];
const security = [{ ApiKey: [] }];
const idempotency = z.object({
  "idempotency-key": z
    .string()
    .optional()
    .openapi({ description: "Repeats with the same key and body get the first answer, for 24 hours" }),
});
const page = { "X-Next-Token": { schema: { type: "string" as const }, description: "Only when another page exists" } };

/** Every operation of the platform API that exists so far. Paths, statuses and shapes: contract/wire.md sections 2.2 to 2.4. */
export const routes = {
  health: createRoute({ method: "get", path: "/health", tags: ["Server"], responses: { 200: none("The server answers") } }),

  createSandbox: createRoute({
    method: "post",
    path: "/sandboxes",
    tags,
    security,
    summary: "Create a sandbox",
    request: { headers: idempotency, body: body(s.NewSandbox) },
    responses: { 201: json(s.Sandbox, "The sandbox runs"), ...errors(400, 403, 404, 409, 422, 503, 504) },
  }),
  createSandboxV2: createRoute({
    method: "post",
    path: "/v2/sandboxes",
    tags,
    security,
    summary: "Create a sandbox (v2)",
    request: { headers: idempotency, body: body(s.NewSandboxV2) },
    responses: { 201: json(s.Sandbox, "The sandbox runs"), ...errors(400, 403, 404, 409, 422, 503, 504) },
  }),
  listSandboxes: createRoute({
    method: "get",
    path: "/sandboxes",
    tags,
    security,
    summary: "List running sandboxes",
    request: { query: s.ListV1Query },
    responses: { 200: json(z.array(s.ListedSandbox), "Newest first"), ...errors(400) },
  }),
  listSandboxesV2: createRoute({
    method: "get",
    path: "/v2/sandboxes",
    tags,
    security,
    summary: "List sandboxes, in pages",
    request: { query: s.ListV2Query },
    responses: {
      200: {
        ...json(z.array(s.ListedSandbox), "One page"),
        headers: { ...page, "X-Total-Running": { schema: { type: "integer" as const }, description: "When running ones were asked for" } },
      },
      ...errors(400),
    },
  }),
  listMetrics: createRoute({
    method: "get",
    path: "/sandboxes/metrics",
    tags,
    security,
    summary: "Newest metrics of several sandboxes",
    request: { query: s.ManyMetricsQuery },
    responses: { 200: json(s.SandboxesMetrics, "By sandbox id"), ...errors(400) },
  }),
  getSandbox: createRoute({
    method: "get",
    path: "/sandboxes/{sandboxID}",
    tags,
    security,
    summary: "Get one sandbox",
    request: { params: SandboxPath },
    responses: { 200: json(s.SandboxDetail, "The sandbox"), ...errors(400, 404) },
  }),
  killSandbox: createRoute({
    method: "delete",
    path: "/sandboxes/{sandboxID}",
    tags,
    security,
    summary: "End a sandbox and remove all of it",
    request: { params: SandboxPath },
    responses: { 204: none("Nothing of it is left"), ...errors(400, 404, 409) },
  }),
  getMetrics: createRoute({
    method: "get",
    path: "/sandboxes/{sandboxID}/metrics",
    tags,
    security,
    summary: "Metrics of one sandbox, sampled every 5 s",
    request: { params: SandboxPath, query: s.MetricsQuery },
    responses: { 200: json(z.array(s.SandboxMetric), "Oldest first"), ...errors(400, 404) },
  }),
  connectSandbox: createRoute({
    method: "post",
    path: "/sandboxes/{sandboxID}/connect",
    tags,
    security,
    summary: "Get the access of a sandbox; its lifetime is never shortened",
    request: { params: SandboxPath, body: body(s.ConnectSandbox) },
    responses: { 200: json(s.Sandbox, "It was running"), 201: json(s.Sandbox, "It was resumed"), ...errors(400, 404, 409, 503, 504) },
  }),
  connectSandboxV2: createRoute({
    method: "post",
    path: "/v2/sandboxes/{sandboxID}/connect",
    tags,
    security,
    summary: "Get the access of a sandbox (v2); the body may be absent",
    request: { params: SandboxPath, body: body(s.ConnectSandboxV2, false) },
    responses: { 200: json(s.Sandbox, "It was running"), 201: json(s.Sandbox, "It was resumed"), ...errors(400, 404, 409, 503, 504) },
  }),
  resumeSandbox: createRoute({
    method: "post",
    path: "/sandboxes/{sandboxID}/resume",
    tags,
    security,
    summary: "Resume a paused sandbox",
    request: { params: SandboxPath, body: body(s.ResumedSandbox, false) },
    responses: { 201: json(s.Sandbox, "It runs"), ...errors(400, 404, 409) },
  }),
  setTimeout: createRoute({
    method: "post",
    path: "/sandboxes/{sandboxID}/timeout",
    tags,
    security,
    summary: "Set the end to now + timeout; may shorten",
    request: { params: SandboxPath, body: body(s.SandboxTimeout) },
    responses: { 204: none("Set"), ...errors(400, 404, 409) },
  }),
  refreshSandbox: createRoute({
    method: "post",
    path: "/sandboxes/{sandboxID}/refreshes",
    tags,
    security,
    summary: "Move the end to at least now + duration",
    request: { params: SandboxPath, body: body(s.SandboxRefresh, false) },
    responses: { 204: none("Done"), ...errors(400, 404) },
  }),
} as const;
