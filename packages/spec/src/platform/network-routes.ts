import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { SandboxPath } from "./common.ts";
import { errors, json, operation } from "./route-parts.ts";

const tags = ["Network"];
const VERDICTS = ["allowed", "denied", "dropped"] as const;

export const NetworkLogEntry = z
  .object({
    cursor: z.int().meta({ description: "Grows with each entry of the sandbox" }),
    timestamp: z.iso.datetime(),
    verdict: z.enum(VERDICTS).meta({ description: "`dropped`: more attempts than are kept of one sandbox, as many as `count` says" }),
    protocol: z
      .enum(["dns", "tcp", "udp", "icmp", "http", "other"])
      .optional()
      .meta({ description: "`dns`: a question to the sandbox's name server; `http`: a request to which its recording has no answer" }),
    name: z.string().optional().meta({ description: "What a question asked for; the host of a request, or that a connection was for" }),
    request: z.string().optional().meta({ description: "Method and URL of a request that the sandbox's recording has no answer to" }),
    address: z.string().optional().meta({ description: "IPv4 address to which a connection or packet went" }),
    port: z.int().optional(),
    sentBytes: z
      .int()
      .optional()
      .meta({ description: "Of a connection through the egress proxy: what the sandbox has sent since the last entry of the connection" }),
    receivedBytes: z.int().optional().meta({ description: "The same of what it has received" }),
    answers: z.array(z.string()).optional().meta({ description: "IPv4 addresses that the name server gave" }),
    rule: z.string().meta({ description: "What decided: an entry of a list, or a rule of the server, in words" }),
    count: z.int().optional(),
  })
  .meta(named("NetworkLogEntry"));
export type NetworkLogEntry = z.infer<typeof NetworkLogEntry>;

const NetworkLog = z
  .object({
    entries: z.array(NetworkLogEntry),
    cursor: z.int().optional().meta({ description: "Of the last entry: the next request with it goes on there. Absent without entries" }),
  })
  .meta(named("NetworkLog"));

const SuggestedNetwork = z.object({ allowOut: z.array(z.string()), denyOut: z.array(z.string()) }).meta(named("SuggestedNetwork"));

const NetworkLogQuery = z.object({
  cursor: z.coerce
    .number()
    .int()
    .min(0, "must not be negative")
    .optional()
    .meta({ description: "Entries behind this one; without it the newest" }),
  limit: z.coerce.number().int().min(1, "must be from 1 to 1000").max(1000, "must be from 1 to 1000").default(1000),
  verdict: z.enum(VERDICTS).optional(),
  search: z.string().max(256, "must have at most 256 characters").optional().meta({ description: "Text in the name or address" }),
});

/** What a sandbox has tried to reach. */
export const networkRoutes = {
  getNetworkLog: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/network/log",
    tags,
    ...allowed("read"),
    summary: "What a sandbox has tried to reach, oldest first",
    description: "The newest thousand attempts of a sandbox that lives, in the memory of the server. See docs/network.md, The record.",
    request: { params: SandboxPath, query: NetworkLogQuery },
    responses: { 200: json(NetworkLog, "The entries that match"), ...errors(400, 404) },
  }),
  suggestNetwork: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/network/suggest",
    tags,
    ...allowed("read"),
    summary: "The smallest egress policy that lets through what a sandbox has tried to reach",
    request: { params: SandboxPath },
    responses: {
      200: json(SuggestedNetwork, "Lists for `network` of a create, or of `PUT /sandboxes/{sandboxID}/network`"),
      ...errors(404),
    },
  }),
};
