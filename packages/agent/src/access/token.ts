import type { AgentState } from "../contracts.ts";

const ENCODER = new TextEncoder();

/** Compares two secrets in a time that says nothing about where they differ; only that their lengths do may show. */
export function sameSecret(given: string, expected: string): boolean {
  const a = ENCODER.encode(given);
  const b = ENCODER.encode(expected);
  let difference = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/** True when the request may use what needs the access token: there is none, or the header has it. */
export function hasAccess(state: Pick<AgentState, "accessToken">, headers: Headers): boolean {
  if (state.accessToken === undefined) return true;
  return sameSecret(headers.get("x-access-token") ?? "", state.accessToken);
}
