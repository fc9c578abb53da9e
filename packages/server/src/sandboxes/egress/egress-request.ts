import { isIPv4 } from "node:net";
import { AppError } from "@boxyard/core";
import {
  deniesAll,
  EDGE_LIMITS,
  type EgressPolicy,
  hostRules,
  isEdgeHeader,
  isEdgeValue,
  isIPv6Network,
  MAX_DNS_SERVERS,
  MAX_EGRESS_ENTRIES,
  parseHostRule,
  parseRange,
} from "@boxyard/driver";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { EgressProxySetting, NetworkPreset, NetworkRules, NetworkSecret, RecordingSetting } from "../../store/index.ts";
import type { NetworkPresets } from "./presets.ts";
import { checkEgressProxy } from "./upstream-proxy.ts";

/** The part of a request that says what may leave a sandbox. */
export type EgressBody = Pick<
  NonNullable<NewSandbox["network"]>,
  "egressProxy" | "rules" | "record" | "replay" | "onMiss" | "secrets" | "dnsServers" | "allowOut" | "denyOut" | "preset"
>;

/** What may leave a sandbox, as it is kept: the policy for packets and names, and the rules for requests as they were given. */
export interface Egress {
  readonly egress: EgressPolicy;
  readonly preset?: NetworkPreset;
  readonly rules?: NetworkRules;
  readonly secrets?: readonly NetworkSecret[];
  /** Set if and only if `egress.isProxied` is. */
  readonly egressProxy?: EgressProxySetting;
  readonly recording?: RecordingSetting;
}

/** Hosts with rules, and rules of a host, that the contract allows. */
const MAX_RULES = { hosts: 10, ofHost: 1 } as const;
/** Placeholders in values; those of identities are absent, as identities are. */
const PLACEHOLDER = /\$\{e2b\.(?!secrets\.[a-zA-Z0-9_-]{1,128}\})[^}]*\}?/;

const refuse = (message: string, reason = "invalid_argument") => new AppError("invalid_argument", message, { reason });
const shown = (text: string) => text.slice(0, 100);

/** A name opens nothing where all is open, and who gives one expects the rest to be closed. */
const NAMES_NEED_DENIAL = "network.allowOut: names need all other traffic to be denied: add '0.0.0.0/0' to network.denyOut";

/** The first egress rule that the server cannot enforce, as an error. */
export function checkEgress({ egressProxy, rules, secrets, dnsServers, allowOut, denyOut }: EgressBody): AppError | undefined {
  const lists = checkAllowed(allowOut ?? []) ?? checkDenied(denyOut ?? []) ?? checkNameServers(dnsServers ?? []);
  return lists ?? checkRules(rules ?? {}) ?? checkSecrets(secrets ?? []) ?? (egressProxy ? checkEgressProxy(egressProxy) : undefined);
}

function checkNameServers(dnsServers: readonly string[]): AppError | undefined {
  if (dnsServers.length > MAX_DNS_SERVERS) return refuse(`network.dnsServers: more than ${MAX_DNS_SERVERS} entries`);
  const bad = dnsServers.find((entry) => !isIPv4(entry));
  return bad === undefined ? undefined : refuse(`network.dnsServers: '${shown(bad)}' is no IPv4 address`);
}

function checkAllowed(allowOut: readonly string[]): AppError | undefined {
  if (allowOut.length > MAX_EGRESS_ENTRIES) return refuse(`network.allowOut: more than ${MAX_EGRESS_ENTRIES} entries`);
  const bad = allowOut.find((entry) => !parseRange(entry) && !parseHostRule(entry));
  if (bad === undefined) return undefined;
  if (isIPv6Network(bad)) return refuse(`network.allowOut: '${shown(bad)}' cannot be allowed: sandboxes have no IPv6`, "not_supported");
  return refuse(
    `network.allowOut: '${shown(bad)}' is neither an IPv4 address, nor a network, nor a name of hosts (example.com, *.example.com, *)`,
  );
}

function checkDenied(denyOut: readonly string[]): AppError | undefined {
  if (denyOut.length > MAX_EGRESS_ENTRIES) return refuse(`network.denyOut: more than ${MAX_EGRESS_ENTRIES} entries`);
  // Sandboxes have no IPv6, so a rule that denies it is accepted.
  const bad = denyOut.find((entry) => !parseRange(entry) && !isIPv6Network(entry));
  return bad === undefined ? undefined : refuse(`network.denyOut: invalid denied CIDR ${shown(bad)}`);
}

function checkRules(rules: NonNullable<EgressBody["rules"]>): AppError | undefined {
  const hosts = Object.keys(rules);
  if (hosts.length > MAX_RULES.hosts) return refuse(`network.rules: more than ${MAX_RULES.hosts} hosts`);
  const names = hosts.map(parseHostRule);
  const twice = names.find((name, index) => name !== undefined && names.indexOf(name) !== index);
  if (twice !== undefined) return refuse(`network.rules: '${shown(twice)}' occurs twice`);
  for (const [host, list] of Object.entries(rules)) {
    const problem = checkHost(host, list);
    if (problem) return problem;
  }
  return undefined;
}

function checkSecrets(secrets: readonly NetworkSecret[]): AppError | undefined {
  const names = secrets.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return refuse(`network.secrets: '${shown(twice)}' occurs twice`);
  const bad = secrets.flatMap(({ hosts }) => hosts).find((host) => !isRuleHost(host));
  return bad === undefined ? undefined : refuse(`network.secrets: '${shown(bad)}' is no name of hosts (example.com, *.example.com)`);
}

const isRuleHost = (host: string) => host !== "*" && host.length <= EDGE_LIMITS.host && parseHostRule(host) !== undefined;

function checkHost(host: string, list: NetworkRules[string]): AppError | undefined {
  const at = `network.rules: '${shown(host)}'`;
  if (!isRuleHost(host)) return refuse(`${at} is no name of hosts (example.com, *.example.com) of ${EDGE_LIMITS.host} characters at most`);
  if (list.length > MAX_RULES.ofHost) return refuse(`${at} has more than ${MAX_RULES.ofHost} rule`);
  const headers = Object.entries(list[0]?.transform?.headers ?? {});
  if (headers.length > EDGE_LIMITS.headers) return refuse(`${at} sets more than ${EDGE_LIMITS.headers} headers`);
  for (const [name, value] of headers) {
    if (!isEdgeHeader(name)) return refuse(`${at}: a rule cannot set a header of the name '${shown(name)}'`);
    if (!isEdgeValue(value))
      return refuse(
        `${at}: the value of '${shown(name)}' has more than ${EDGE_LIMITS.headerValue} characters, or some that no header can hold`,
      );
    if (PLACEHOLDER.test(value)) return refuse(`${at}: of placeholders, values can have those of secrets`, "not_supported");
  }
  const lower = headers.map(([name]) => name.toLowerCase());
  return new Set(lower).size === lower.length ? undefined : refuse(`${at} sets a header twice`);
}

/** What a request says of the way out of a sandbox. */
export interface EgressWish {
  readonly allow_internet_access?: boolean | null | undefined;
  readonly network?: EgressBody | undefined;
}

/**
 * What a request lets leave the sandbox, with the lists as they were given, empty ones too. Throws `invalid_argument` for what the server cannot enforce,
 * and what `NetworkPresets` does.
 */
export function parseEgress(wanted: EgressWish, presets: NetworkPresets): Egress {
  const problem = wanted.network && checkEgress(wanted.network);
  if (problem) throw problem;
  if (wanted.network?.preset === "all" && wanted.allow_internet_access === false)
    throw refuse("network.preset: 'all' cannot go with allow_internet_access: false");
  const recording = recordingOf(wanted.network ?? {});
  const { given, allowOut, denyOut, dnsServers, rules, secrets, egressProxy } = presets.applied(wanted.network ?? {});
  const internetAccess = wanted.allow_internet_access !== false && !deniesAll(denyOut ?? []);
  const lists = { ...(allowOut && { allowOut }), ...(denyOut && { denyOut }), ...(dnsServers && { dnsServers }) };
  const egress: EgressPolicy = { internetAccess, ...lists, ...(egressProxy && { isProxied: true }) };
  if (internetAccess && hostRules(egress).length > 0) throw refuse(NAMES_NEED_DENIAL);
  return {
    egress,
    ...(given && { preset: given }),
    ...(rules && { rules: lowerCased(rules) }),
    ...(secrets && { secrets: secrets.map(lowerHosts) }),
    ...(egressProxy && { egressProxy }),
    ...(recording && { recording }),
  };
}

/** What the sandbox does with a recording. Throws `invalid_argument` for members that cannot go together. */
function recordingOf({ record, replay, onMiss }: EgressBody): RecordingSetting | undefined {
  if (record && replay) throw refuse("network.replay: cannot go with network.record: a recording is kept, or it answers");
  if (onMiss && !replay) throw refuse("network.onMiss: needs network.replay");
  if (record) return { record };
  return replay ? { replay, ...(onMiss && { onMiss }) } : undefined;
}

const lowerCased = (rules: NonNullable<EgressBody["rules"]>): NetworkRules =>
  Object.fromEntries(Object.entries(rules).map(([host, list]) => [host.toLowerCase(), list]));

const lowerHosts = (secret: NetworkSecret): NetworkSecret => ({ ...secret, hosts: secret.hosts.map((host) => host.toLowerCase()) });
