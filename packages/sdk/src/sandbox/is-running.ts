import { type AgentAddress, probeHealth } from "../connection/agent-connection.ts";
import type { ConnectionConfig } from "../connection/config.ts";
import { type RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { ConnectionError } from "../errors.ts";

/** True if the sandbox's agent answers; false if the sandbox has ended or is paused. */
export async function isRunning(address: AgentAddress, config: ConnectionConfig, opts: RequestOptions): Promise<boolean> {
  const what = `ask sandbox ${address.sandboxId} for its health`;
  const scope = new RequestScope(what, opts.requestTimeoutMs ?? config.requestTimeoutMs, [config.signal, opts.signal]);
  try {
    const health = await probeHealth(address, scope.signal, 0);
    if (health !== "unreachable") return health === "running";
    const message = `${what}: no clear answer from ${address.baseUrl}`;
    throw scope.failure(undefined) ?? new ConnectionError(message, { code: "unavailable", reason: "network_failed" });
  } finally {
    scope.dispose();
  }
}
