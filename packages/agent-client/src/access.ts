import type { AgentAddress } from "@boxyard/driver";
import { basicUser } from "@boxyard/spec";

/** A sandbox's agent, and the token that it was given. */
export interface AgentAccess {
  readonly address: AgentAddress;
  readonly accessToken: string;
}

export const urlOf = ({ address }: AgentAccess) => `http://${address.host}:${address.agentPort}`;

/** Headers of a call as `user`. */
export function headersOf({ accessToken }: AgentAccess, user: string): Record<string, string> {
  return { "X-Access-Token": accessToken, Authorization: basicUser(user) };
}
