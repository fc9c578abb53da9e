import type { SandboxDetail, SandboxNetworkUpdateConfig } from "@boxyard/spec/platform-types";
import { entriesOf, wordsFor, wrongLine } from "./network-entries.ts";

export type Preset = "all" | "packages" | "none";

/** What the form of a sandbox's connections shows. */
export interface NetworkForm {
  readonly preset: Preset;
  /** An entry in a line. */
  readonly allowed: string;
  readonly denied: string;
}

/** All addresses: what denies everything where no preset was given. */
const ALL = "0.0.0.0/0";

/** The form for what is in force. */
export function networkForm({ network, allowInternetAccess }: Pick<SandboxDetail, "network" | "allowInternetAccess">): NetworkForm {
  const { preset, allowOut, denyOut } = network ?? {};
  const denied = denyOut ?? [];
  const isClosed = !preset && (allowInternetAccess === false || denied.includes(ALL));
  return {
    preset: preset ?? (isClosed ? "none" : "all"),
    allowed: (allowOut ?? []).join("\n"),
    denied: denied.filter((entry) => !isClosed || entry !== ALL).join("\n"),
  };
}

/** Why the form cannot be sent as it is: a sentence for a person. */
export function problemOf({ preset, allowed, denied }: NetworkForm): string | undefined {
  const wrong = { allowed: wrongLine(allowed, true), denied: wrongLine(denied, false) };
  if (wrong.allowed) return wordsFor("Allowed", wrong.allowed);
  if (wrong.denied) return wordsFor("Denied", wrong.denied);
  const name = entriesOf(allowed).find((entry) => /[a-z*]/i.test(entry));
  if (preset === "all" && name !== undefined && !entriesOf(denied).includes(ALL)) {
    return `Allowed has the domain '${name.slice(0, 60)}', but everything is allowed anyway. Choose 'Only what is allowed', or leave the domain away.`;
  }
  return undefined;
}

/** An update replaces all rules: so it repeats those that the form does not show, as the sandbox has them now. */
export function networkUpdate(
  { network }: Pick<SandboxDetail, "network">,
  { preset, allowed, denied }: NetworkForm,
): SandboxNetworkUpdateConfig {
  const { rules, secrets, dnsServers, egressProxy, record, replay, onMiss } = network ?? {};
  return {
    preset,
    allowOut: entriesOf(allowed),
    denyOut: entriesOf(denied),
    ...(rules && { rules }),
    ...(secrets && { secrets }),
    ...(dnsServers && { dnsServers }),
    ...(egressProxy && { egressProxy }),
    ...(record && { record }),
    ...(replay && { replay }),
    ...(onMiss && { onMiss }),
  };
}

/** Why the form cannot be used: the server gives a proxy's password and certificate to nobody, so an update from here would lose them. */
export const whyNotHere = ({ network }: Pick<SandboxDetail, "network">): string | undefined =>
  network?.egressProxy
    ? `All connections go through the proxy ${network.egressProxy.address}. Change the rules with the API, which needs the proxy's password again.`
    : undefined;
