import { canonicalHost, type EgressPolicy, hostMatcher, hostRules } from "@boxyard/driver";
import type { DnsClient } from "./dns/forwarder.ts";
import { GROUP, resolvesNames } from "./plan.ts";

/** Which names the name server looks up for a sandbox whose link is in this group. */
export function resolvedBy(group: number | undefined, egress?: EgressPolicy): DnsClient["resolves"] {
  if (group !== GROUP.named) {
    const resolves = resolvesNames(group);
    return () => resolves;
  }
  const fits = hostMatcher(egress ? hostRules(egress) : []);
  return (name) => {
    const host = canonicalHost(name);
    return host !== undefined && fits(host);
  };
}
