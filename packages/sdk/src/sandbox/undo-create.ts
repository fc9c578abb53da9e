import { ApiClient, type ApiRequest } from "../connection/api-client.ts";
import { AbortError, TimeoutError } from "../errors.ts";
import type { SandboxAccess } from "./sandbox-info.ts";

/** Longer than a server works at one create. */
const LIMIT_MS = 60_000;

/** True when this client gave up a request while it was under way: its result is not known. */
export function wasGivenUp(error: unknown): boolean {
  return (error instanceof AbortError || error instanceof TimeoutError) && error.status === undefined;
}

/**
 * Ends the sandbox that a given-up create may have made. Nobody knows its id, so the create is repeated under its idempotency key, which gives
 * the same sandbox, whatever became of the first request; that one is killed then. Never throws: a sandbox that is left ends at its timeout.
 */
export async function undoCreate(
  api: ApiClient,
  create: ApiRequest<SandboxAccess>,
  kill: (api: ApiClient, sandboxId: string) => Promise<unknown>,
): Promise<void> {
  // Without the caller's signal, which is aborted, and without the caller's limit, which was too short.
  const own = new ApiClient({ ...api.config, signal: undefined, requestTimeoutMs: LIMIT_MS });
  try {
    const { sandboxId } = await own.send({ ...create, options: {} });
    await kill(own, sandboxId);
  } catch {
    // The server is gone, or made nothing.
  }
}
