import { AppError, isAppError, type TeamId } from "@boxyard/core";
import { type EdgeHost, type EdgeSecret, type EgressPolicy, isEdgeValue, parseHostRule, withoutEdge } from "@boxyard/driver";
import type { NetworkRecordings } from "../../recordings/network-recordings.ts";
import type { TeamSecrets } from "../../secrets/team-secrets.ts";
import type { NetworkRules, NetworkSecret, SandboxRecord, SandboxSettings } from "../../store/index.ts";
import { upstreamProxyOf } from "./upstream-proxy.ts";

/** A secret in the value of a header: its name is what the contract's placeholder names. */
const IN_VALUE = /\$\{e2b\.secrets\.([a-zA-Z0-9_-]{1,128})\}/g;

/** The text that a sandbox holds and sends in place of a secret: of characters that stay as they are in addresses and headers, with an end that no name has. */
const standInOf = (name: string): string => `boxyard.${name.toLowerCase()}.secret`;

/** Names of the secrets that the network of a sandbox uses. */
export function secretsUsed({ rules = {}, secrets = [] }: Pick<SandboxSettings, "rules" | "secrets">): ReadonlySet<string> {
  const values = Object.values(rules).flatMap(([rule]) => Object.values(rule?.transform?.headers ?? {}));
  const inRules = values.flatMap((value) => [...value.matchAll(IN_VALUE)].map(([, name = ""]) => name.toLowerCase()));
  return new Set([...inRules, ...secrets.map(({ name }) => name.toLowerCase())]);
}

type Governed = Pick<SandboxRecord, "teamId" | "settings">;

/** Makes the policy that a driver enforces of what a sandbox's network is set to. Values of secrets are looked up each time, and kept nowhere in the server. */
export class DriverPolicies {
  private readonly secrets: Pick<TeamSecrets, "value">;

  private readonly recordings: Pick<NetworkRecordings, "check" | "use">;

  constructor(secrets: Pick<TeamSecrets, "value">, recordings: Pick<NetworkRecordings, "check" | "use">) {
    this.secrets = secrets;
    this.recordings = recordings;
  }

  /** A host whose rules name a secret that cannot be had gets no request, and such a secret is put into none. */
  async of(governed: Governed): Promise<EgressPolicy> {
    const policy = await this.withEdge(governed);
    const { teamId, settings } = governed;
    return settings.recording ? { ...policy, recording: await this.recordings.use(teamId, settings.recording) } : policy;
  }

  private async withEdge({ teamId, settings }: Governed): Promise<EgressPolicy> {
    const { egress, rules = {}, secrets = [], egressProxy } = settings;
    const proxy = egressProxy && upstreamProxyOf(egressProxy);
    // What this server cannot open closes the sandbox.
    if (egress.isProxied && !proxy) return withoutEdge({ ...egress, edge: { hosts: [] } });
    const values = await this.valuesOf(teamId, secretsUsed(settings));
    const hosts = Object.entries(rules).flatMap((entry) => edgeHost(entry, values));
    const attached = secrets.flatMap((secret) => edgeSecret(secret, values));
    if (hosts.length === 0 && attached.length === 0 && !proxy) return egress;
    return { ...egress, edge: { hosts, ...(attached.length > 0 && { secrets: attached }), ...(proxy && { proxy }) } };
  }

  /** Throws `invalid_argument` when a secret or a recording that is named is not there, or a secret cannot be in a header; makes a recording that is to be kept. */
  async check(teamId: TeamId, settings: Pick<SandboxSettings, "rules" | "secrets" | "recording">): Promise<void> {
    if (settings.recording) await this.recordings.check(teamId, settings.recording);
    const values = await this.valuesOf(teamId, secretsUsed(settings));
    for (const value of values.values()) if (value instanceof AppError) throw value;
    for (const [host, [rule]] of Object.entries(settings.rules ?? {}))
      for (const [name, value] of Object.entries(rule?.transform?.headers ?? {}))
        if (!isEdgeValue(resolved(value, values).value))
          throw refusal(`network.rules: '${host}': the value of '${name}' is too long with its secret`);
  }

  private async valuesOf(teamId: TeamId, names: ReadonlySet<string>): Promise<ReadonlyMap<string, string | AppError>> {
    const found = await Promise.all([...names].map(async (name) => [name, await this.valueOf(teamId, name)] as const));
    return new Map(found);
  }

  private async valueOf(teamId: TeamId, name: string): Promise<string | AppError> {
    try {
      const value = await this.secrets.value(teamId, name);
      return isEdgeValue(value)
        ? value
        : refusal(`the secret '${name}' cannot be in a header: it is too long, or has characters that none can hold`);
    } catch (error) {
      if (isAppError(error, "not_found")) return refusal(`network: there is no secret '${name}'`);
      if (isAppError(error, "failed_precondition")) return refusal(`network: the secret '${name}' was sealed by another data directory`);
      throw error;
    }
  }
}

const refusal = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_argument" });

type Values = ReadonlyMap<string, string | AppError>;

/** A header's value with its secrets, which of them it has, and what one of them lacks. */
function resolved(text: string, values: Values): { value: string; used: string[]; problem: AppError | undefined } {
  const used: string[] = [];
  let problem: AppError | undefined;
  const value = text.replace(IN_VALUE, (_all, name: string) => {
    const found = values.get(name.toLowerCase());
    if (typeof found === "string") used.push(found);
    else problem = found;
    return typeof found === "string" ? found : "";
  });
  return { value, used, problem };
}

/** None for a host whose rules change nothing: TLS stays closed there. */
function edgeHost([name, [rule]]: [string, NetworkRules[string]], values: Values): EdgeHost[] {
  const host = parseHostRule(name);
  const headers = Object.entries(rule?.transform?.headers ?? {}).map(([field, text]) => [field, resolved(text, values)] as const);
  if (host === undefined || headers.length === 0) return [];
  const masked = headers.flatMap(([, { used }]) => used);
  const problem = headers.find(([, header]) => header.problem)?.[1].problem;
  return [
    {
      host,
      headers: problem ? {} : Object.fromEntries(headers.map(([field, { value }]) => [field, value])),
      ...(masked.length > 0 && { masked }),
      ...(problem && { refused: problem.message }),
    },
  ];
}

function edgeSecret({ name, hosts, methods, paths }: NetworkSecret, values: Values): EdgeSecret[] {
  const value = values.get(name.toLowerCase());
  if (typeof value !== "string") return [];
  const canonical = hosts.flatMap((host) => parseHostRule(host) ?? []);
  return [{ placeholder: standInOf(name), value, hosts: canonical, ...(methods && { methods }), ...(paths && { paths }) }];
}
