import type { AddressRange } from "./address-ranges.ts";
import { type EdgePolicy, isOpenedAtEdge } from "./edge-policy.ts";
import { type EgressPolicy, hostRules, permittedRanges } from "./egress-policy.ts";
import type { RecordingUse } from "./recording-use.ts";

/** The part of a policy by which an egress proxy decides. */
export interface HostPolicy {
  /** Rules for names, as `parseHostRule` gives them. */
  readonly hosts: readonly string[];
  /** Addresses that may be reached on port 443, and with `edge.proxy` on every port, whatever the name is; with `edge` alone, for else such connections do not come to the proxy. */
  readonly ranges: readonly AddressRange[];
  readonly edge?: EdgePolicy;
  readonly recording?: RecordingUse;
}

/** Undefined for a policy that needs no egress proxy. */
export function hostPolicy(policy: EgressPolicy): HostPolicy | undefined {
  const hosts = hostRules(policy);
  const { edge, recording } = policy;
  if (edge || recording) return { hosts, ranges: permittedRanges(policy), ...(edge && { edge }), ...(recording && { recording }) };
  return hosts.length > 0 ? { hosts, ranges: [] } : undefined;
}

/** Whether the proxy opens TLS for a host. */
export const isOpenedFor = ({ edge, recording }: HostPolicy, host: string): boolean =>
  recording !== undefined || (edge !== undefined && isOpenedAtEdge(edge, host));
