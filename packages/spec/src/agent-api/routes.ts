import { z } from "zod";
import { operation } from "../openapi.ts";
import { AgentError, ComposeRequest, EntryInfo, FreezeResult, JournalPage, Metrics, SandboxNotFound } from "./schemas.ts";

/*
 * HTTP operations of the agent, as clients see them through the server's one port. `POST /init` is not among them: only the server may call
 * it. Operation names, tags, headers and bodies of composition, freeze and statistics: docs/contract/agent.md.
 */

const json = <S extends z.ZodType>(schema: S, description: string) => ({ content: { "application/json": { schema } }, description });
const none = (description: string) => ({ description });

const STATUSES: Readonly<Record<number, string>> = {
  400: "Bad request: the message names what is wrong",
  401: "The access token, the signature or the user is not valid",
  403: "The kernel of the sandbox does not permit this for the path, or its file system is read-only",
  404: "A path does not exist",
  406: "None of the accepted content codings is possible",
  408: "No data came for too long; the connection is closed",
  409: "The path changed during the operation, or another use of it prevents this",
  412: "The file does not fulfil the condition of the request",
  413: "The body is larger than this operation takes",
  416: "The file has no byte of the requested range",
  429: "No memory is left for the body; repeat later",
  500: "The operation failed inside the sandbox",
  503: "Not possible right now; nothing was changed",
  507: "Not enough disk space",
};

/** Error answers of an operation; 401 and the server's own 502 are possible for all. */
function agentErrors(...statuses: number[]) {
  const own = [401, ...statuses].sort((a, b) => a - b).map((status) => [status, json(AgentError, STATUSES[status] ?? "Error")]);
  return { ...Object.fromEntries(own), 502: json(SandboxNotFound, "The sandbox was not found, or is not running") };
}

/** What leads a request to the agent of one sandbox. */
const RoutingHeaders = z.object({
  "Svc-Sandbox-Id": z.string().meta({ description: "Identifier of the sandbox (also accepted as E2b-Sandbox-Id)" }),
  "Svc-Sandbox-Port": z.int().meta({ description: "Port of the agent (also accepted as E2b-Sandbox-Port)", default: 49983 }),
});

const security = [{ AccessToken: [] }];
/** A request for a file may carry a signature in place of the token. */
const signedSecurity = [{ AccessToken: [] }, {}];

const FileQuery = z.object({
  path: z.string().optional().meta({ description: "Absolute, or relative to the user's home directory" }),
  username: z.string().optional().meta({ description: "Acting user; the sandbox's default user when absent" }),
  signature: z.string().optional().meta({ description: "Signed access without a token" }),
  signature_expiration: z.string().optional().meta({ description: "End of the signature, Unix seconds" }),
});
const JournalQuery = z.object({ after: z.int().min(0).optional().meta({ description: "Number of the last entry that the caller has" }) });
const FreezeQuery = z.object({
  mode: z.enum(["legacy", "hierarchy"]).optional().meta({ description: "`hierarchy` freezes the cgroups that the guest made, too" }),
  maxWaitMs: z.int().optional().meta({ description: "Wait at most this long (up to 60000) and answer 200 with what was reached" }),
  maxCgroups: z.int().optional().meta({ description: "Look at no more cgroups than this; 512 by default, 8192 at most" }),
});
const file = { "application/octet-stream": { schema: z.string().meta({ format: "binary" }) } };
const upload = {
  ...file,
  "multipart/form-data": { schema: z.object({ file: z.array(z.string().meta({ format: "binary" })) }) },
};

type RouteOf = Parameters<typeof operation>[0];
const route = <R extends Omit<RouteOf, "security">>(config: R, access: RouteOf["security"] = security) =>
  operation({ ...config, security: access } as RouteOf);

export const agentRoutes = {
  health: route(
    {
      method: "get",
      path: "/health",
      operationId: "getHealth",
      tags: ["Envd"],
      summary: "Health check of the agent",
      request: { headers: RoutingHeaders },
      responses: { 204: none("The sandbox runs"), 502: agentErrors()[502] },
    },
    [],
  ),
  metrics: route({
    method: "get",
    path: "/metrics",
    operationId: "getMetrics",
    tags: ["Envd"],
    summary: "Resource usage of the sandbox",
    request: { headers: RoutingHeaders },
    responses: { 200: json(Metrics, "Usage now"), ...agentErrors() },
  }),
  envs: route({
    method: "get",
    path: "/envs",
    operationId: "getEnvs",
    tags: ["Envd"],
    summary: "Environment variables of every process",
    request: { headers: RoutingHeaders },
    responses: { 200: json(z.record(z.string(), z.string()), "Variables by name"), ...agentErrors() },
  }),
  log: route({
    method: "get",
    path: "/boxyard/log",
    operationId: "getBoxyardLog",
    tags: ["Boxyard"],
    summary: "The last lines of the agent's log (an extension of Boxyard)",
    request: { headers: RoutingHeaders },
    responses: { 200: json(z.array(z.string()), "Lines, oldest first: time (RFC 3339), message"), ...agentErrors(404) },
  }),
  journal: route({
    method: "get",
    path: "/boxyard/journal",
    operationId: "getBoxyardJournal",
    tags: ["Boxyard"],
    summary: "Starts and ends of commands, and lines of the agent (an extension of Boxyard)",
    request: { headers: RoutingHeaders, query: JournalQuery },
    responses: {
      200: json(JournalPage, "The newest entries after the one with the number `after`, oldest first"),
      ...agentErrors(400, 404),
    },
  }),
  freeze: route({
    method: "post",
    path: "/freeze",
    operationId: "postFreeze",
    tags: ["Envd"],
    summary: "Freeze the user and PTY cgroups before a pause",
    request: { headers: RoutingHeaders, query: FreezeQuery },
    responses: {
      200: json(FreezeResult, "What was reached within maxWaitMs"),
      204: none("The cgroups are frozen"),
      ...agentErrors(400, 503),
    },
  }),
  unfreeze: route({
    method: "post",
    path: "/unfreeze",
    operationId: "postUnfreeze",
    tags: ["Envd"],
    summary: "Thaw the user and PTY cgroups: the rollback of a failed pause",
    request: { headers: RoutingHeaders },
    responses: { 204: none("Nothing is frozen"), ...agentErrors(503) },
  }),
  download: route(
    {
      method: "get",
      path: "/files",
      operationId: "getFiles",
      tags: ["Filesystem"],
      summary: "Download a file",
      request: { headers: RoutingHeaders, query: FileQuery },
      responses: {
        200: { content: file, description: "The file" },
        206: { content: file, description: "The part of the file that the header Range names" },
        304: none("Not changed"),
        ...agentErrors(400, 403, 404, 406, 412, 416, 500),
      },
    },
    signedSecurity,
  ),
  upload: route(
    {
      method: "post",
      path: "/files",
      operationId: "postFiles",
      tags: ["Filesystem"],
      summary: "Upload files; X-Metadata-<key> headers set their metadata",
      request: { headers: RoutingHeaders, query: FileQuery, body: { content: upload, required: true } },
      responses: { 200: json(z.array(EntryInfo), "The files, in the order of the upload"), ...agentErrors(400, 403, 408, 409, 500, 507) },
    },
    signedSecurity,
  ),
  archive: route({
    method: "get",
    path: "/boxyard/archive",
    operationId: "getBoxyardArchive",
    tags: ["Filesystem"],
    summary: "Download a directory as a tar",
    request: { headers: RoutingHeaders, query: FileQuery.pick({ path: true, username: true }) },
    responses: {
      200: {
        content: { "application/x-tar": { schema: z.string().meta({ format: "binary" }) } },
        description: "Everything in the directory",
      },
      ...agentErrors(400, 403, 404, 409, 429, 500),
    },
  }),
  compose: route({
    method: "post",
    path: "/files/compose",
    operationId: "postFilesCompose",
    tags: ["Filesystem"],
    summary: "Concatenate files into one without copying their data; the sources are deleted",
    request: { headers: RoutingHeaders, body: { content: { "application/json": { schema: ComposeRequest } }, required: true } },
    responses: { 200: json(EntryInfo, "The composed file"), ...agentErrors(400, 403, 404, 408, 409, 429, 500, 507) },
  }),
};
