import type { Sandbox } from "@boxyard/sdk";

/** Lifetime that a sandbox of ours is given at a time: so long it outlives a command line that was killed. */
export const LEASE_MS = 60_000;
const RENEW_EVERY_MS = 20_000;

/** Keeps a sandbox alive for as long as this process lives. */
export function renewLease(sandbox: Sandbox): { stop(): void } {
  const timer = setInterval(() => {
    // One that fails is followed by two more before the time is up; and when the sandbox is gone, its streams say so.
    sandbox.setTimeout(LEASE_MS).catch(() => {});
  }, RENEW_EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
