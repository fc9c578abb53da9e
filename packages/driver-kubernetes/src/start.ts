import { AppError, type Clock } from "@boxyard/core";
import type { AgentAddress } from "@boxyard/driver";

const FIRST_WAIT_MS = 5;
const MAX_WAIT_MS = 250;
const ATTEMPT_MS = 2_000;

/**
 * Resolves when the agent answers its health check. Throws `unavailable`, reason `agent_exited`, when the pod ends before. Whatever answers may be
 * hostile: no redirect is followed, no body is read.
 */
export async function agentAnswers(
  { host, agentPort }: AgentAddress,
  { clock, signal, hasEnded }: { readonly clock: Clock; readonly signal: AbortSignal; readonly hasEnded: () => Promise<boolean> },
): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    signal.throwIfAborted();
    if ((await healthOf(`http://${host.includes(":") ? `[${host}]` : host}:${agentPort}/health`, clock, signal)) === 204) return;
    await clock.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    if (waitMs === MAX_WAIT_MS && (await hasEnded())) {
      throw new AppError("unavailable", "The sandbox ended before its agent answered", { reason: "agent_exited" });
    }
  }
}

async function healthOf(url: string, clock: Clock, signal: AbortSignal): Promise<number | undefined> {
  const limit = new AbortController();
  const over = clock.sleep(ATTEMPT_MS, limit.signal).then(
    () => limit.abort(),
    () => {},
  );
  try {
    const response = await fetch(url, { redirect: "manual", keepalive: false, signal: AbortSignal.any([signal, limit.signal]) });
    void response.body?.cancel().catch(() => {});
    return response.status;
  } catch {
    return undefined;
  } finally {
    limit.abort();
    await over;
  }
}
