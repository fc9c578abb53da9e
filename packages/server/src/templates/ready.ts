import type { Clock } from "@boxyard/core";

const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 2000;

/** A ready command that only waits says nothing about what it waits for: nobody waits for it. */
export const isOnlySleep = (command: string) => /^\s*sleep\s+[\d.]+[smhd]?\s*$/.test(command);

/** Asks until the answer is yes: soon at first, every 2 s later. Rejects with the signal's reason. */
export async function untilReady(ask: () => Promise<boolean>, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    if (await ask()) return;
    await clock.sleep(waitMs, signal);
  }
}
