import type { Socket } from "node:net";
import { describe } from "../connection/api-client.ts";
import { errorFromResponse } from "../connection/http-errors.ts";
import { type RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { ConnectionError } from "../errors.ts";
import type { SandboxPorts } from "../sandbox/sandbox-ports.ts";
import { openTcp } from "./open-tcp.ts";

const REQUEST_LIMIT_MS = 60_000;
/** A link is asked for once, when the connection is made. */
const LINK_MS = 300_000;

/**
 * Connects to a port of a sandbox by TCP, whatever protocol the program there speaks; one that listens on a loopback address inside is reached too. The
 * socket is one of `node:net` (of `node:tls` where the server's URL begins with `https`): what is written to it gets to the program as it is, and what
 * the program sends can be read. Each side ends on its own: `end()` when there is nothing more to send, `destroy()` when it is over. An end or a pause of
 * the sandbox, and `revokePortUrls`, reset the connection. 256 connections to a sandbox at once, 1,024 to all of a team.
 *
 * @throws ConnectionError with the reason `port_not_open` while nothing listens on the port, RateLimitError if there are too many connections,
 * SandboxEndedError, AuthenticationError for the port of the agent.
 */
export async function connectTcp(sandbox: SandboxPorts, port: number, opts: RequestOptions = {}): Promise<Socket> {
  const what = `connect to port ${port} of sandbox ${sandbox.sandboxId}`;
  const { url, headers } = sandbox.portAccess(port);
  const isPublic = sandbox.trafficAccessToken === undefined;
  const query = isPublic ? new URL((await sandbox.getPortUrl(port, { ...opts, expiresInMs: LINK_MS })).url).search : "";
  const scope = new RequestScope(what, opts.requestTimeoutMs ?? REQUEST_LIMIT_MS, [opts.signal]);
  try {
    scope.throwIfEnded();
    const opened = await openTcp({ url, headers, query }, (socket) =>
      scope.signal.addEventListener("abort", () => socket.destroy(), { once: true }),
    ).catch((cause: unknown) => {
      const message = `${what}: no connection to ${url} (${describe(cause)})`;
      throw scope.failure(cause) ?? new ConnectionError(message, { code: "unavailable", reason: "network_failed", cause });
    });
    if (opened instanceof Response) throw await errorFromResponse(opened, what);
    return opened;
  } finally {
    scope.dispose();
  }
}
