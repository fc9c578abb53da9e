import { type CallContext, scopeFor } from "../connection/agent-call.ts";
import type { AgentAddress } from "../connection/agent-connection.ts";
import type { Probe } from "../connection/lost-connection.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { BoxyardError } from "../errors.ts";
import { transfer, transferError } from "../files/file-transfer.ts";

interface Context extends CallContext {
  readonly metadata: CallContext["metadata"] & { readonly probe: Probe };
}

/** The lines that a sandbox's agent noted of itself, oldest first. */
export async function agentLog(address: AgentAddress, context: Context, options: RequestOptions): Promise<string[]> {
  const what = "read the log of the sandbox's agent";
  const { probe } = context.metadata;
  const scope = scopeFor(context, what, options);
  try {
    const response = await transfer(address, { method: "GET", path: "/boxyard/log", query: {}, what }, scope, probe);
    const lines: unknown = await response.json().catch(async (error: unknown) => {
      throw await transferError(error, what, scope, probe);
    });
    if (Array.isArray(lines) && lines.every((line) => typeof line === "string")) return lines;
    throw new BoxyardError(`${what}: the agent's answer is not understood`, { code: "internal", reason: "protocol_error" });
  } finally {
    scope.dispose();
  }
}
