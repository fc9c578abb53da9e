import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { checkPort } from "./port-access.ts";
import { lifetimeSeconds, NO_SANDBOX, sandboxPath } from "./sandbox-api.ts";

export interface PortUrlOptions extends RequestOptions {
  /** Default 3600000, at most 604800000 (7 days). */
  readonly expiresInMs?: number | undefined;
}

/** A link to one port of one sandbox. */
export interface SignedPortUrl {
  /** Everybody who has it reaches the port, without the traffic token. */
  readonly url: string;
  readonly expiresAt: Date;
  /** True: the ports of the sandbox are public, so they are reached without the link too. */
  readonly isPublic: boolean;
}

const pathOf = (id: string, port: number) => sandboxPath(id, `/ports/${port}/url`);

export function getPortUrl(api: ApiClient, id: string, port: number, opts: PortUrlOptions): Promise<SignedPortUrl> {
  checkPort(port);
  const query = opts.expiresInMs === undefined ? "" : `?expires=${lifetimeSeconds(opts.expiresInMs)}`;
  return api.send({
    method: "GET",
    path: pathOf(id, port) + query,
    what: `make a link to port ${port} of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options: opts,
    read: async (response) => {
      const { url, expiresAt, isPublic } = (await response.json()) as wire.PortUrl;
      return { url, expiresAt: new Date(expiresAt), isPublic };
    },
  });
}

export function revokePortUrls(api: ApiClient, id: string, port: number, options: RequestOptions): Promise<void> {
  checkPort(port);
  return api.send({
    method: "DELETE",
    path: pathOf(id, port),
    what: `withdraw the links to port ${port} of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async () => undefined,
  });
}
