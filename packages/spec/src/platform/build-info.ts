import { z } from "zod";
import { named } from "../openapi.ts";
import { pageSize, pathParam } from "./route-parts.ts";

export const BuildFiles = z
  .object({ present: z.boolean(), url: z.string().optional(), headers: z.record(z.string(), z.string()).optional() })
  .meta(named("TemplateBuildFileUpload"));

export const BuildStatusName = z.enum(["waiting", "building", "ready", "error"]).meta(named("TemplateBuildStatus"));
export const LogLevel = z.enum(["debug", "info", "warn", "error"]).meta(named("LogLevel"));
export type LogLevel = z.infer<typeof LogLevel>;

export const BuildLogEntry = z
  .object({ timestamp: z.iso.datetime(), message: z.string(), level: LogLevel, step: z.string().optional() })
  .meta(named("BuildLogEntry"));
export type BuildLogEntry = z.infer<typeof BuildLogEntry>;

export const BuildInfo = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    status: BuildStatusName,
    logs: z.array(z.string()),
    logEntries: z.array(BuildLogEntry),
    reason: z.object({ message: z.string(), step: z.string().optional(), logEntries: z.array(BuildLogEntry) }).optional(),
  })
  .meta(named("TemplateBuildInfo"));
export type BuildInfo = z.infer<typeof BuildInfo>;

const count = z.coerce.number("must be a number").int("must be a whole number").min(0, "must not be negative");

export const BuildStatusQuery = z.object({ logsOffset: count.default(0), limit: pageSize, level: LogLevel.optional() });
export const BuildLogsQuery = z.object({
  cursor: count.optional().meta({ description: "Milliseconds since 1970" }),
  limit: pageSize,
  direction: z.enum(["forward", "backward"]).default("forward"),
  level: LogLevel.optional(),
  source: z.string().optional(),
});
export const BuildLogs = z.object({ logs: z.array(BuildLogEntry) }).meta(named("TemplateBuildLogsResponse"));

export const BuildPath = z.object({ templateID: pathParam("templateID"), buildID: pathParam("buildID") });
export const FilesPath = z.object({ templateID: pathParam("templateID"), hash: pathParam("hash") });
