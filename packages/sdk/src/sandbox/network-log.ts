import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { NO_SANDBOX, sandboxPath } from "./sandbox-api.ts";

/** Something that a sandbox has tried to reach. */
export interface NetworkLogEntry {
  /** Grows with each entry of the sandbox. */
  readonly cursor: number;
  readonly timestamp: Date;
  /** `dropped`: more attempts than the server keeps of one sandbox, as many as `count` says. */
  readonly verdict: "allowed" | "denied" | "dropped";
  /** `dns`: a question to the sandbox's name server. `http`: a request that its recording has no answer to. */
  readonly protocol?: "dns" | "tcp" | "udp" | "icmp" | "http" | "other" | undefined;
  /** What a question asked for; the host of a request, or that a connection was for. */
  readonly name?: string | undefined;
  /** IPv4 address to which a connection or packet went. */
  readonly address?: string | undefined;
  readonly port?: number | undefined;
  /** Method and URL of a request that the sandbox's recording has no answer to. */
  readonly request?: string | undefined;
  /** Of a connection through the egress proxy: what the sandbox has sent since the last entry of the connection; `receivedBytes`: what it has received. */
  readonly sentBytes?: number | undefined;
  readonly receivedBytes?: number | undefined;
  /** IPv4 addresses that the name server gave. */
  readonly answers?: readonly string[] | undefined;
  /** What decided: an entry of a list, or a rule of the server, in words. */
  readonly rule: string;
  readonly count?: number | undefined;
}

export interface NetworkLogOptions {
  /** Entries behind the one with this cursor. Default: the newest. */
  readonly cursor?: number | undefined;
  /** 1 to 1000. Default 1000. */
  readonly limit?: number | undefined;
  readonly verdict?: NetworkLogEntry["verdict"] | undefined;
  /** Only names and addresses with this text. */
  readonly search?: string | undefined;
}

/** Lists for `network` of a create, or for `updateNetwork`. */
export interface SuggestedNetwork {
  readonly allowOut: readonly string[];
  readonly denyOut: readonly string[];
}

export function getNetworkLog(api: ApiClient, id: string, opts: NetworkLogOptions, options: RequestOptions): Promise<NetworkLogEntry[]> {
  const given = Object.entries({ cursor: opts.cursor, limit: opts.limit, verdict: opts.verdict, search: opts.search });
  const query = new URLSearchParams(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
  return api.send({
    method: "GET",
    path: sandboxPath(id, `/network/log?${query}`),
    what: `read the network log of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) =>
      ((await response.json()) as wire.NetworkLog).entries.map((entry) => ({ ...entry, timestamp: new Date(entry.timestamp) })),
  });
}

export function suggestNetwork(api: ApiClient, id: string, options: RequestOptions): Promise<SuggestedNetwork> {
  return api.send({
    method: "GET",
    path: sandboxPath(id, "/network/suggest"),
    what: `suggest a network policy for sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) => (await response.json()) as wire.SuggestedNetwork,
  });
}
