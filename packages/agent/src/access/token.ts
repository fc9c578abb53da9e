import type { AgentState } from "../contracts.ts";

const ENCODER = new TextEncoder();

/** Compares two secrets in a time that does not depend on where they differ; it may depend on their lengths. */
export function sameSecret(given: string, expected: string): boolean {
  const a = ENCODER.encode(given);
  const b = ENCODER.encode(expected);
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/** True when no access token is set, or the request's `X-Access-Token` is that token. */
export function hasAccess(state: Pick<AgentState, "accessToken">, headers: Headers): boolean {
  if (state.accessToken === undefined) return true;
  return sameSecret(headers.get("x-access-token") ?? "", state.accessToken);
}
