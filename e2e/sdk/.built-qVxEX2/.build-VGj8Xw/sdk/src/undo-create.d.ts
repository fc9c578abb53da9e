import { ApiClient, type ApiRequest } from "./api-client.ts";
import type { SandboxAccess } from "./sandbox-info.ts";
/** True when a request was given up by us while it was under way: nobody knows what came of it. */
export declare function wasGivenUp(error: unknown): boolean;
/**
 * Ends the sandbox that a given-up create may have made. Nobody knows its id, so the create is repeated under its idempotency key, which gives
 * the same sandbox, whatever became of the first request; that one is killed then. Never throws: what fails here ends with its own timeout.
 */
export declare function undoCreate(api: ApiClient, create: ApiRequest<SandboxAccess>, kill: (api: ApiClient, sandboxId: string) => Promise<unknown>): Promise<void>;
