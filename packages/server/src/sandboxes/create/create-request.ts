import { AppError, type TeamId } from "@boxyard/core";
import { AGENT_PORT } from "@boxyard/spec";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { Lifecycle, TemplateVersion } from "../../store/index.ts";
import { checkEgress, type Egress } from "../egress/egress-request.ts";
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

function checkHttpsPorts(ports: readonly number[]): AppError | undefined {
  if (ports.length > MAX_HTTPS_PORTS) return refuse(`network.httpsPorts: more than ${MAX_HTTPS_PORTS} entries`);
  const bad = ports.find((port) => port < 1 || port > 65535);
  if (bad !== undefined) return refuse(`network.httpsPorts: ${bad} is no port`);
  if (ports.includes(AGENT_PORT))
    return refuse(`network.httpsPorts: ${AGENT_PORT} is the port of the sandbox's agent, which speaks no TLS`);
  return undefined;
}

const isHost = (text: string) => /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?$/.test(text.replaceAll("$" + "{PORT}", "1"));

/** What a create is checked against, and what reads its part for the network. */
export interface CreateRules {
  readonly template: TemplateVersion;
  readonly maxTimeoutHours: number;
  readonly egressOf: (body: Body) => Egress;
}

/** Checks the body of a create and makes the request of it. Throws `invalid_argument`, whose message begins with the field. */
export function toCreateSandbox(body: Body, teamId: TeamId, { template, maxTimeoutHours, egressOf }: CreateRules): CreateSandbox {
  checkTimeout(body.timeout, maxTimeoutHours);
  checkTimeout(body.idleTimeout ?? 0, maxTimeoutHours, "idleTimeout");
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
      ...egressOf(body),
      allowPublicTraffic: network?.allowPublicTraffic !== false,
      ...(network?.maskRequestHost ? { maskRequestHost: network.maskRequestHost } : {}),
      ...(network?.httpsPorts?.length ? { httpsPorts: [...new Set(network.httpsPorts)] } : {}),
      ...(body.idleTimeout && { idleMs: body.idleTimeout * 1000 }),
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
export function checkTimeout(seconds: number, maxHours: number, field = "timeout"): void {
  if (seconds > maxHours * 3600) throw refuse(`${field}: Timeout cannot be greater than ${maxHours} hours`);
}
