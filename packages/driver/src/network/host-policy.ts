import type { AddressRange } from "./address-ranges.ts";
import type { EdgePolicy } from "./edge-policy.ts";
import { type EgressPolicy, hostRules, permittedRanges } from "./egress-policy.ts";

/** The part of a policy by which an egress proxy decides. */
export interface HostPolicy {
  /** Rules for names, as `parseHostRule` gives them. */
  readonly hosts: readonly string[];
  /** Addresses that may be reached on port 443, and with `edge.proxy` on every port, whatever the name is; with `edge` alone, for else such connections do not come to the proxy. */
  readonly ranges: readonly AddressRange[];
  readonly edge?: EdgePolicy;
}

/** Undefined for a policy that needs no egress proxy. */
export function hostPolicy(policy: EgressPolicy): HostPolicy | undefined {
  const hosts = hostRules(policy);
  const { edge } = policy;
  if (edge) return { hosts, ranges: permittedRanges(policy), edge };
  return hosts.length > 0 ? { hosts, ranges: [] } : undefined;
}
