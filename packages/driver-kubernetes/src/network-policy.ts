import { AppError, BLOCKED_NETWORKS } from "@boxyard/core";
import { type AddressRange, type EgressPolicy, hostRules, parseRange, permittedRanges, type SandboxSpec } from "@boxyard/driver";
import type { NetworkPeer } from "./config.ts";
import { LABELS, MANAGER, nameOf } from "./names.ts";

/** Which of the policies of a server a sandbox has. */
export type EgressKind = "internet" | "none" | "listed";

/** Name servers answer here. They may be private, so sandboxes reach this port of every address. */
const DNS_PORTS = [
  { protocol: "UDP", port: 53 },
  { protocol: "TCP", port: 53 },
];
const NETWORKING = "networking.k8s.io/v1";

export function egressKind({ internetAccess, allowOut = [], denyOut = [] }: EgressPolicy): EgressKind {
  if (allowOut.length + denyOut.length > 0) return "listed";
  return internetAccess ? "internet" : "none";
}

/** Throws `unimplemented`, reason `host_names_unimplemented` or `egress_proxy_unimplemented`, for a policy that a NetworkPolicy cannot express. */
export function checkExpressible(policy: EgressPolicy): void {
  if (policy.edge || policy.isProxied || policy.recording) {
    throw new AppError(
      "unimplemented",
      "Sandboxes as pods have neither rules, secrets and recordings for requests nor a proxy for their traffic",
      {
        reason: "egress_proxy_unimplemented",
      },
    );
  }
  if (hostRules(policy).length === 0) return;
  throw new AppError("unimplemented", "Sandboxes as pods cannot be limited to names of hosts; give addresses and networks", {
    reason: "host_names_unimplemented",
  });
}

const metadataOf = (name: string, instance: string, labels: Readonly<Record<string, string>> = {}) => ({
  name,
  labels: { ...labels, [LABELS.managedBy]: MANAGER, [LABELS.instance]: instance },
});

/** The policies that all sandboxes of a server share: nothing in but the server, nothing out; and the internet for those that may. */
export function sharedPolicies(
  instance: string,
  serverPeers: readonly NetworkPeer[],
): readonly { readonly name: string; readonly policy: object }[] {
  const selector = (labels: Readonly<Record<string, string>> = {}) => ({
    matchLabels: { [LABELS.managedBy]: MANAGER, [LABELS.instance]: instance, ...labels },
  });
  const policy = (name: string, spec: object) => ({
    name,
    policy: { apiVersion: NETWORKING, kind: "NetworkPolicy", metadata: metadataOf(name, instance), spec },
  });
  return [
    policy(`boxyard-${instance}-closed`, {
      podSelector: selector(),
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: serverPeers }],
      egress: [],
    }),
    policy(`boxyard-${instance}-internet`, {
      podSelector: selector({ [LABELS.egress]: "internet" }),
      policyTypes: ["Egress"],
      egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: [...BLOCKED_NETWORKS] } }] }, { ports: DNS_PORTS }],
    }),
  ];
}

/** The policy of one sandbox with lists: the networks that it may reach, without those that are closed to all. */
export function policyOf(spec: SandboxSpec, instance: string, labels: Readonly<Record<string, string>>): object {
  const to = openRanges(spec.network)
    .flatMap(blocksOf)
    .map((cidr) => ({ ipBlock: { cidr } }));
  return {
    apiVersion: NETWORKING,
    kind: "NetworkPolicy",
    metadata: metadataOf(nameOf(spec.sandboxId), instance, labels),
    spec: {
      podSelector: { matchLabels: { [LABELS.sandbox]: spec.sandboxId } },
      policyTypes: ["Egress"],
      egress: [...(to.length > 0 ? [{ to }] : []), ...(spec.network.internetAccess ? [{ ports: DNS_PORTS }] : [])],
    },
  };
}

/** What a policy permits, less `BLOCKED_NETWORKS`. */
function openRanges(policy: EgressPolicy): readonly AddressRange[] {
  const closed = BLOCKED_NETWORKS.flatMap((network) => parseRange(network) ?? []).toSorted((a, b) => a.first - b.first);
  return permittedRanges(policy).flatMap((range) => {
    const open: AddressRange[] = [];
    let { first } = range;
    for (const gap of closed) {
      if (gap.last < first || gap.first > range.last) continue;
      if (gap.first > first) open.push({ first, last: gap.first - 1 });
      first = gap.last + 1;
    }
    if (first <= range.last) open.push({ first, last: range.last });
    return open;
  });
}

/** The fewest networks that are together a range. */
export function blocksOf({ first, last }: AddressRange): string[] {
  const blocks: string[] = [];
  let next = first;
  while (next <= last) {
    let bits = 0;
    // The largest network that begins here and ends within the range.
    while (bits < 32 && next % 2 ** (bits + 1) === 0 && next + 2 ** (bits + 1) - 1 <= last) bits++;
    blocks.push(`${[24, 16, 8, 0].map((shift) => Math.floor(next / 2 ** shift) % 256).join(".")}/${32 - bits}`);
    next += 2 ** bits;
  }
  return blocks;
}
