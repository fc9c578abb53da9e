/** True when a server answers there within the limit. */
export async function answers(url: string, limitMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(limitMs) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
