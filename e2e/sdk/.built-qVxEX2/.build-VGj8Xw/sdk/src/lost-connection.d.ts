import type { SandboxHealth } from "./agent-connection.ts";
import { type BoxyardError } from "./errors.ts";
import type { RequestScope } from "./request-scope.ts";
import type { ServerRuns } from "./server-runs.ts";
/** What is found when a connection was lost; `restarted`: the sandbox runs, and the server is another one than when the stream began. */
export type ProbeResult = SandboxHealth | "restarted";
/** Looks into a lost connection. `stream` is given when an answer had begun. */
export type Probe = (stream?: {
    readonly beganAt: number;
    readonly signal: AbortSignal;
}) => Promise<ProbeResult>;
/** The probe of a sandbox: asks for its health, for a while if a stream was cut, then whether the server is still the same. */
export declare function probeOf(askHealth: () => Promise<SandboxHealth>, runs: ServerRuns): Probe;
/** The error for a lost connection, by what `probe` finds. */
export declare function lostConnection(cause: unknown, what: string, said: string, scope: RequestScope, probe: Probe | undefined, requestId?: string): Promise<BoxyardError>;
