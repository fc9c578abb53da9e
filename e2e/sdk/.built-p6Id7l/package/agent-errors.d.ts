import type { SandboxHealth } from "./agent-connection.js";
import { BoxyardError } from "./errors.js";
import type { RequestScope } from "./request-scope.js";
export interface AgentErrorContext {
  /** What was tried, as the start of the sentence. */
  readonly what: string;
  readonly scope: RequestScope;
  /** `reason` of a not_found. */
  readonly notFoundReason?: string;
  /** The limit that a deadline_exceeded means, for streams that have one. */
  readonly streamTimeoutMs?: number;
  /** Asks how the sandbox is; without it a lost connection is not looked into. */
  readonly probe?: (() => Promise<SandboxHealth>) | undefined;
}
/** Any failure of a call to the agent as one of our errors. A failed connection is looked into: has the sandbox ended? */
export declare function agentError(error: unknown, context: AgentErrorContext): Promise<BoxyardError>;
