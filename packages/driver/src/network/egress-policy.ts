import { isIPv4, isIPv6 } from "node:net";
import { type AddressRange, isPrefix, parseRange } from "./address-ranges.ts";
import { type EdgePolicy, isEdgeEnforceable } from "./edge-policy.ts";
import { parseHostRule } from "./host-names.ts";
import { isRecordingUse, type RecordingUse } from "./recording-use.ts";

/** Addresses that a sandbox may reach. The same value from the request to the kernel's rules. */
export interface EgressPolicy {
  /** False: packets leave the sandbox only as answers to the server's connections, and to `allowOut`. */
  readonly internetAccess: boolean;
  /**
   * IPv4 addresses and networks that may be reached, though `internetAccess` or `denyOut` says otherwise, and names of hosts (`parseHostRule`), which may
   * be reached by HTTP on port 80 and TLS on port 443: the name in `Host` or in the server name indication decides. Names need `internetAccess: false`.
   * Networks that are closed to every sandbox stay closed.
   */
  readonly allowOut?: readonly string[];
  /** Addresses and networks that may not be reached. IPv6 ones deny nothing: no sandbox has IPv6. */
  readonly denyOut?: readonly string[];
  /** IPv4 addresses of name servers that may be reached too while `allowOut` has a name. Without names it has no effect. */
  readonly dnsServers?: readonly string[];
  /** What is done to requests to some hosts, by HTTPS on port 443. It opens no way by itself. */
  readonly edge?: EdgePolicy;
  /** True: TCP connections go through `edge.proxy`, and nothing else leaves the sandbox. */
  readonly isProxied?: boolean;
  /** Exchanges by HTTP are kept in a recording, or answered from one. */
  readonly recording?: RecordingUse;
}

/** Whether nothing leaves the sandbox, because all that it asks for is answered from a recording. */
const isAnsweredHere = ({ recording }: EgressPolicy): boolean => recording?.mode === "replay" && !recording.passes;

/** The policy as a driver may write it to disk: without the values for requests and the credentials, which are secret. It governs the same packets. */
export const withoutEdge = (policy: EgressPolicy): EgressPolicy =>
  policy.edge ? { ...policy, edge: { hosts: [], isWithheld: true } } : policy;

/** Entries of `dnsServers`. */
export const MAX_DNS_SERVERS = 10;

/** Entries of each list. The kernel's memory for them does not count against the sandbox. */
export const MAX_EGRESS_ENTRIES = 256;

const LAST_ADDRESS = 2 ** 32 - 1;

/** Whether `text` is an IPv6 address or network. One that stands for IPv4 addresses (`::ffff:1.2.3.4`) is none: its packets would be IPv4. */
export function isIPv6Network(text: string): boolean {
  const [address = "", prefix = "128", ...more] = text.split("/");
  if (!isIPv6(address) || address.includes("%") || more.length > 0 || !isPrefix(prefix, 128)) return false;
  return !isMapped(address) || Number(prefix) < 96;
}

/** Whether an address is IPv4-mapped. URL normalises the forms of an IPv6 address. */
const isMapped = (address: string): boolean => new URL(`http://[${address}]/`).hostname.startsWith("[::ffff:");

/** The same addresses in ranges that neither overlap nor touch, lowest first. */
function merged(ranges: readonly AddressRange[]): AddressRange[] {
  const result: AddressRange[] = [];
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = result.at(-1);
    if (before && first <= before.last + 1) result[result.length - 1] = { first: before.first, last: Math.max(before.last, last) };
    else result.push({ first, last });
  }
  return result;
}

/** All addresses but those of `ranges`. */
function without(ranges: readonly AddressRange[]): AddressRange[] {
  const gaps: AddressRange[] = [];
  let next = 0;
  for (const { first, last } of merged(ranges)) {
    if (first > next) gaps.push({ first: next, last: first - 1 });
    next = last + 1;
  }
  return next > LAST_ADDRESS ? gaps : [...gaps, { first: next, last: LAST_ADDRESS }];
}

const rangesOf = (list: readonly string[] = []): AddressRange[] => list.flatMap((entry) => parseRange(entry) ?? []);

/** Whether a list of denied networks leaves no IPv4 address. */
export const deniesAll = (denyOut: readonly string[]): boolean => without(rangesOf(denyOut)).length === 0;

/** The rules for names of hosts in a policy, as `parseHostRule` gives them. */
export const hostRules = (policy: EgressPolicy): readonly string[] => (isAnsweredHere(policy) ? [] : namesOf(policy));

const namesOf = ({ allowOut = [] }: EgressPolicy): readonly string[] => [
  ...new Set(allowOut.filter((entry) => !parseRange(entry)).flatMap((entry) => parseHostRule(entry) ?? [])),
];

/** The addresses that a policy permits, lowest first, in ranges that do not touch: those of `allowOut`, and what is not denied. */
export function permittedRanges(policy: EgressPolicy): readonly AddressRange[] {
  const { internetAccess, allowOut, denyOut, dnsServers = [] } = policy;
  if (isAnsweredHere(policy)) return [];
  const nameServers = dnsServers.length > 0 && hostRules(policy).length > 0 ? rangesOf(dnsServers) : [];
  return merged([...rangesOf(allowOut), ...nameServers, ...(internetAccess ? without(rangesOf(denyOut)) : [])]);
}

/** Whether the lists are within their bounds and every entry is one that can be enforced. */
export function isEnforceable({
  internetAccess,
  allowOut = [],
  denyOut = [],
  dnsServers = [],
  edge,
  isProxied,
  recording,
}: EgressPolicy): boolean {
  if (Math.max(allowOut.length, denyOut.length) > MAX_EGRESS_ENTRIES || dnsServers.length > MAX_DNS_SERVERS) return false;
  const isAllowable = (entry: string) => parseRange(entry) !== undefined || (!internetAccess && parseHostRule(entry) !== undefined);
  if (edge && !isEdgeEnforceable(edge)) return false;
  if (recording && !isRecordingUse(recording)) return false;
  if (isProxied ? !edge?.proxy && !edge?.isWithheld : edge?.proxy) return false;
  return allowOut.every(isAllowable) && denyOut.every((entry) => parseRange(entry) || isIPv6Network(entry)) && dnsServers.every(isIPv4);
}
