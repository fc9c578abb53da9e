import { BoxyardError } from "./errors.ts";
import { type Probe } from "./lost-connection.ts";
import type { RequestScope } from "./request-scope.ts";
export interface AgentErrorContext {
    /** What was tried, as the start of the sentence. */
    readonly what: string;
    readonly scope: RequestScope;
    /** `reason` of a not_found. */
    readonly notFoundReason?: string;
    /** The limit that a deadline_exceeded means, for streams that have one. */
    readonly streamTimeoutMs?: number;
    /** Without it a lost connection is not looked into. */
    readonly probe?: Probe | undefined;
}
/** Any failure of a call to the agent as one of our errors. A failed connection is looked into: has the sandbox ended? */
export declare function agentError(error: unknown, context: AgentErrorContext): Promise<BoxyardError>;
