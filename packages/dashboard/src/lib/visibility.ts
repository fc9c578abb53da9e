const isVisible = (): boolean => document.visibilityState === "visible";

/** Ends when the page is visible, or `signal` is aborted. */
export async function untilVisible(signal: AbortSignal): Promise<void> {
  if (isVisible() || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = new AbortController();
  document.addEventListener("visibilitychange", () => isVisible() && resolve(), { signal: over.signal });
  signal.addEventListener("abort", () => resolve(), { signal: over.signal });
  await promise;
  over.abort();
}

/** Does `work` with a signal that is aborted when the page is hidden, or `signal` is aborted. Nothing is done for a page that is hidden already. */
export async function whileVisible(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  if (!isVisible()) return;
  const hidden = new AbortController();
  const over = new AbortController();
  document.addEventListener("visibilitychange", () => !isVisible() && hidden.abort(), { signal: over.signal });
  try {
    await work(AbortSignal.any([signal, hidden.signal]));
  } catch (error) {
    if (!hidden.signal.aborted) throw error;
  } finally {
    over.abort();
  }
}
