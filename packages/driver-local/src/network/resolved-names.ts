import { canonicalHost, type EgressPolicy, hostMatcher, hostRules } from "@boxyard/driver";
import type { DnsClient } from "./dns/forwarder.ts";
import { GROUP, resolvesNames } from "./plan.ts";

/**
 * Which names the name server looks up for a sandbox whose link is in this group. Of one that a recording answers every other name has an address that stands
 * for any server: its connections end in the egress proxy.
 */
export function resolvedBy(group: number | undefined, egress?: EgressPolicy): Pick<DnsClient, "resolves" | "standsIn"> {
  const resolves = looksUp(group, egress);
  return { resolves, standsIn: egress?.recording?.mode === "replay" ? (name) => !resolves(name) : undefined };
}

function looksUp(group: number | undefined, egress?: EgressPolicy): DnsClient["resolves"] {
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
