import { type EdgeHost, type EgressPolicy, parseHostRule } from "@boxyard/driver";
import type { NetworkRules, SandboxSettings } from "../../store/index.ts";

/** The policy that the driver enforces: what may leave the sandbox, and what is done to its requests. */
export function driverPolicy({ egress, rules = {} }: Pick<SandboxSettings, "egress" | "rules">): EgressPolicy {
  const hosts = Object.entries(rules).flatMap(edgeHost);
  return hosts.length > 0 ? { ...egress, edge: { hosts } } : egress;
}

/** None for a host whose rules change nothing: TLS stays closed there. */
function edgeHost([name, [rule]]: [string, NetworkRules[string]]): EdgeHost[] {
  const host = parseHostRule(name);
  const headers = rule?.transform?.headers ?? {};
  return host === undefined || Object.keys(headers).length === 0 ? [] : [{ host, headers }];
}
