import { isIPv4 } from "node:net";
import { AppError, type TeamId } from "@boxyard/core";
import {
  deniesAll,
  type EgressPolicy,
  hostRules,
  isIPv6Network,
  MAX_DNS_SERVERS,
  MAX_EGRESS_ENTRIES,
  parseHostRule,
  parseRange,
} from "@boxyard/driver";
import { AGENT_PORT } from "@boxyard/spec";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { Lifecycle, TemplateVersion } from "../../store/index.ts";
import type { CreateSandbox } from "./new-record.ts";

const refuse = (message: string, reason = "invalid_argument") => new AppError("invalid_argument", message, { reason });
const absent = (field: string) => refuse(`${field}: this server does not have this yet`, "not_supported");

/** True for names that the kernel's form `NAME=value` can hold. */
const isEnvName = (name: string) => name !== "" && !name.includes("=") && !name.includes("\0");
const MAX_HTTPS_PORTS = 256;
const MAX_MAP_BYTES = 128 << 10;
const isEmpty = (value: unknown) => value === null || (typeof value === "object" && Object.keys(value).length === 0);

type Body = NewSandbox;

/** Checks of one field or of several together, in the order in which they are made. Features that are absent are refused, never ignored. */
const CHECKS: readonly ((body: Body) => AppError | undefined)[] = [
  (b) => (b.timeout <= 0 ? refuse("timeout: Timeout must be greater than 0") : undefined),
  (b) => (b.autoPauseMemory === false && !b.autoPause ? refuse("autoPauseMemory: false needs autoPause") : undefined),
  (b) => (b.autoPauseMemory === false && b.autoResume?.enabled ? refuse("autoPauseMemory: false cannot go with autoResume") : undefined),
  (b) =>
    b.secure === false && b.network?.allowPublicTraffic === false
      ? refuse("You cannot create a sandbox without public access unless you enable secure envd access via 'secure' flag.")
      : undefined,
  // `mcp` is taken as it is: the client starts the gateway itself, and says what is wrong when the template has none (docs/contract/platform.md, MCP).
  (b) => (Object.values(b.iam ?? {}).some((member) => !isEmpty(member)) ? absent("iam") : undefined),
  ({ network }) => (network ? checkEgress(network) : undefined),
  (b) => checkHttpsPorts(b.network?.httpsPorts ?? []),
  (b) =>
    b.network?.maskRequestHost && !isHost(b.network.maskRequestHost) ? refuse("network.maskRequestHost: must be host[:port]") : undefined,
  (b) => {
    const bad = Object.keys(b.envVars ?? {}).find((name) => !isEnvName(name));
    return bad === undefined ? undefined : refuse(`envVars: '${bad.slice(0, 100)}' is not a variable name`);
  },
  (b) => {
    const bad = Object.keys(b.envSecrets ?? {}).find((name) => !isEnvName(name) || Object.hasOwn(b.envVars ?? {}, name));
    return bad === undefined ? undefined : refuse(`envSecrets: '${bad.slice(0, 100)}' is not a variable name, or is in envVars too`);
  },
  (b) => (Object.values(b.envVars ?? {}).some((value) => value.includes("\0")) ? refuse("envVars: values must not hold NUL") : undefined),
  (b) => (Buffer.byteLength(JSON.stringify(b.envVars ?? {})) > MAX_MAP_BYTES ? refuse("envVars: more than 128 KiB") : undefined),
  (b) => (Buffer.byteLength(JSON.stringify(b.metadata ?? {})) > MAX_MAP_BYTES ? refuse("metadata: more than 128 KiB") : undefined),
];

type Egress = Pick<NonNullable<Body["network"]>, "egressProxy" | "rules" | "dnsServers" | "allowOut" | "denyOut">;

/** A name opens nothing where all is open, and who gives one expects the rest to be closed. */
const NAMES_NEED_DENIAL = "network.allowOut: names need all other traffic to be denied: add '0.0.0.0/0' to network.denyOut";

/** The first egress rule that the server cannot enforce, as an error. */
function checkEgress({ egressProxy, rules, dnsServers, allowOut, denyOut }: Egress): AppError | undefined {
  if (egressProxy) return absent("network.egressProxy");
  if (rules && Object.keys(rules).length > 0) return absent("network.rules");
  return checkAllowed(allowOut ?? []) ?? checkDenied(denyOut ?? []) ?? checkNameServers(dnsServers ?? []);
}

function checkNameServers(dnsServers: readonly string[]): AppError | undefined {
  if (dnsServers.length > MAX_DNS_SERVERS) return refuse(`network.dnsServers: more than ${MAX_DNS_SERVERS} entries`);
  const bad = dnsServers.find((entry) => !isIPv4(entry));
  return bad === undefined ? undefined : refuse(`network.dnsServers: '${bad.slice(0, 100)}' is no IPv4 address`);
}

function checkAllowed(allowOut: readonly string[]): AppError | undefined {
  if (allowOut.length > MAX_EGRESS_ENTRIES) return refuse(`network.allowOut: more than ${MAX_EGRESS_ENTRIES} entries`);
  const bad = allowOut.find((entry) => !parseRange(entry) && !parseHostRule(entry));
  if (bad === undefined) return undefined;
  const shown = bad.slice(0, 100);
  if (isIPv6Network(bad)) return refuse(`network.allowOut: '${shown}' cannot be allowed: sandboxes have no IPv6`, "not_supported");
  return refuse(
    `network.allowOut: '${shown}' is neither an IPv4 address, nor a network, nor a name of hosts (example.com, *.example.com, *)`,
  );
}

function checkDenied(denyOut: readonly string[]): AppError | undefined {
  if (denyOut.length > MAX_EGRESS_ENTRIES) return refuse(`network.denyOut: more than ${MAX_EGRESS_ENTRIES} entries`);
  // Sandboxes have no IPv6, so a rule that denies it is accepted.
  const bad = denyOut.find((entry) => !parseRange(entry) && !isIPv6Network(entry));
  return bad === undefined ? undefined : refuse(`network.denyOut: invalid denied CIDR ${bad.slice(0, 100)}`);
}

/** The egress policy of a request, with the lists as they were given, empty ones too. Throws `invalid_argument` for rules that the server cannot enforce. */
export function parseEgress(wanted: { allow_internet_access?: boolean | null | undefined; network?: Egress | undefined }): EgressPolicy {
  const problem = wanted.network && checkEgress(wanted.network);
  if (problem) throw problem;
  const { allowOut, denyOut, dnsServers } = wanted.network ?? {};
  const internetAccess = wanted.allow_internet_access !== false && !deniesAll(denyOut ?? []);
  const policy = { internetAccess, ...(allowOut && { allowOut }), ...(denyOut && { denyOut }), ...(dnsServers && { dnsServers }) };
  if (internetAccess && hostRules(policy).length > 0) throw refuse(NAMES_NEED_DENIAL);
  return policy;
}

function checkHttpsPorts(ports: readonly number[]): AppError | undefined {
  if (ports.length > MAX_HTTPS_PORTS) return refuse(`network.httpsPorts: more than ${MAX_HTTPS_PORTS} entries`);
  const bad = ports.find((port) => port < 1 || port > 65535);
  if (bad !== undefined) return refuse(`network.httpsPorts: ${bad} is no port`);
  if (ports.includes(AGENT_PORT))
    return refuse(`network.httpsPorts: ${AGENT_PORT} is the port of the sandbox's agent, which speaks no TLS`);
  return undefined;
}

const isHost = (text: string) => /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$/.test(text.replaceAll("$" + "{PORT}", "1"));

/** Checks the body of a create and makes the request of it. Throws `invalid_argument`, whose message begins with the field. */
export function toCreateSandbox(body: Body, teamId: TeamId, template: TemplateVersion, maxTimeoutHours: number): CreateSandbox {
  checkTimeout(body.timeout, maxTimeoutHours);
  for (const check of CHECKS) {
    const problem = check(body);
    if (problem) throw problem;
  }
  const { network } = body;
  return {
    teamId,
    template,
    ...(body.name !== undefined && { name: body.name }),
    ...(body.resources && { size: body.resources }),
    timeoutMs: body.timeout * 1000,
    envVars: body.envVars ?? {},
    settings: {
      metadata: body.metadata ?? {},
      egress: parseEgress(body),
      allowPublicTraffic: network?.allowPublicTraffic !== false,
      ...(network?.maskRequestHost ? { maskRequestHost: network.maskRequestHost } : {}),
      ...(network?.httpsPorts?.length ? { httpsPorts: [...new Set(network.httpsPorts)] } : {}),
      ...(body.autoPause || body.autoResume?.enabled ? { lifecycle: lifecycleOf(body) } : {}),
    },
  };
}

function lifecycleOf({ autoPause, autoPauseMemory, autoResume }: Body): Lifecycle {
  return {
    ...(autoPause && { pauseAs: autoPauseMemory === false ? "filesystem" : "full" }),
    wakes: autoResume?.enabled ?? false,
  };
}

/** Throws `invalid_argument` when a lifetime is longer than this server allows. */
export function checkTimeout(seconds: number, maxHours: number): void {
  if (seconds > maxHours * 3600) throw refuse(`timeout: Timeout cannot be greater than ${maxHours} hours`);
}
