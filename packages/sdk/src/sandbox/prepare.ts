import { type ApiClient, sleep } from "../connection/api-client.ts";
import { randomKey } from "../connection/random-key.ts";
import { type Claim, setUpSandbox } from "./named-api.ts";

/** How long others wait for a client that has gone while it prepared a sandbox. */
const LEASE_SECONDS = 30;

export const newClaim = (): Claim => ({ creator: randomKey(), leaseSeconds: LEASE_SECONDS });

/**
 * Runs `work`, the preparation of a new sandbox, and renews the claim meanwhile; then others get the sandbox. Throws what `work` throws, and an error of
 * `setUpSandbox` when the sandbox has ended.
 */
export async function prepare(api: ApiClient, id: string, claim: Claim, work: () => Promise<void> | void): Promise<void> {
  const over = new AbortController();
  const renewing = renew(api, id, claim, over.signal);
  try {
    await work();
  } finally {
    over.abort();
    await renewing;
  }
  await setUpSandbox(api, id, { ...claim, done: true });
}

/** A renewal that fails is tried again at the next turn: the last word has the server, when `done` is sent. */
async function renew(api: ApiClient, id: string, claim: Claim, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep((claim.leaseSeconds * 1000) / 3, signal);
    if (signal.aborted) return;
    await setUpSandbox(api, id, { ...claim, done: false }).catch(() => {});
  }
}
