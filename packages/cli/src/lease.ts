import type { Sandbox } from "@boxyard/sdk";

/** Lifetime that each renewal gives a sandbox: the longest time for which it outlives a `boxyard run` that was killed. */
export const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 20_000;

/** Keeps a sandbox alive for as long as this process lives. */
export function renewLease(sandbox: Sandbox): { stop(): void } {
  const timer = setInterval(() => {
    // A renewal that fails is followed by two more before the lease ends. When the sandbox is gone, its streams fail.
    sandbox.setTimeout(LEASE_MS).catch(() => {});
  }, RENEW_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
