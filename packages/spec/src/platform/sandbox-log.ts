import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { LogLevel } from "./build-info.ts";
import { SandboxPath, StringMap } from "./common.ts";
import { errors, json, operation } from "./route-parts.ts";

const tags = ["Sandboxes"];
const millis = z.coerce.number("must be a number").int("must be a whole number").min(0, "must not be negative");
const limit = z.coerce.number().int().min(0, "must be from 0 to 1000").max(1000, "must be from 0 to 1000").default(1000);

export const SandboxLogEntry = z
  .object({ timestamp: z.iso.datetime(), message: z.string(), level: LogLevel, fields: StringMap })
  .meta(named("SandboxLogEntry"));
export type SandboxLogEntry = z.infer<typeof SandboxLogEntry>;

export const SandboxLogs = z
  .object({
    logs: z.array(z.object({ timestamp: z.iso.datetime(), line: z.string().meta({ description: "A JSON object as text" }) })),
    logEntries: z.array(SandboxLogEntry),
  })
  .meta(named("SandboxLogs"));
const SandboxLogsV2 = z.object({ logs: z.array(SandboxLogEntry) }).meta(named("SandboxLogsV2Response"));

const v1Query = z.object({ start: millis.optional().meta({ description: "Milliseconds since 1970" }), limit });
const v2Query = z.object({
  cursor: millis
    .optional()
    .meta({ description: "Milliseconds since 1970. Forward: the first time that is listed; backward: the last one" }),
  limit,
  direction: z.enum(["forward", "backward"]).default("backward"),
  level: LogLevel.meta({ description: "Lowest level of the entries that are listed" }).optional(),
  search: z.string().max(256, "must have at most 256 characters").optional(),
});

/** What the server knows of a sandbox's life (docs/contract/platform.md); also of one that has ended, for two days. */
export const sandboxLogRoutes = {
  getSandboxLogs: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/logs",
    tags,
    ...allowed("read"),
    summary: "What happened to a sandbox, oldest first",
    request: { params: SandboxPath, query: v1Query },
    responses: { 200: json(SandboxLogs, "The entries, in two forms: lines and objects"), ...errors(400, 404) },
  }),
  getSandboxLogsV2: operation({
    method: "get",
    path: "/v2/sandboxes/{sandboxID}/logs",
    tags,
    ...allowed("read"),
    summary: "What happened to a sandbox (v2)",
    request: { params: SandboxPath, query: v2Query },
    responses: { 200: json(SandboxLogsV2, "One page"), ...errors(400, 404) },
  }),
} as const;
