import { type AgentAddress } from "./agent-connection.ts";
import { BoxyardError } from "./errors.ts";
import { type FileData, type WriteInfo } from "./file-types.ts";
import { type Probe } from "./lost-connection.ts";
import type { RequestScope } from "./request-scope.ts";
export interface TransferRequest {
    readonly method: "GET" | "POST";
    readonly path: string;
    readonly query: Readonly<Record<string, string | undefined>>;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: FileData | FormData;
    /** What is tried, as the start of an error's sentence. */
    readonly what: string;
}
/** One HTTP request to the agent's file routes. The caller disposes of the scope when the body has been read. */
export declare function transfer(address: AgentAddress, request: TransferRequest, scope: RequestScope, probe: Probe): Promise<Response>;
/** A failure of a transfer as one of our errors; a lost connection is looked into. */
export declare function transferError(error: unknown, what: string, scope: RequestScope, probe: Probe): Promise<BoxyardError>;
/** `?…`, or nothing. (`URLSearchParams.size` is missing in some browsers.) */
export declare function withQuery(query: URLSearchParams): string;
/** The entries that an upload answers with. */
export declare function readWriteInfos(response: Response, what: string): Promise<WriteInfo[]>;
