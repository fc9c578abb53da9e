import type { SandboxDetail, SandboxNetworkUpdateConfig } from "@boxyard/spec/platform-types";

/** What the form of a sandbox's connections shows. */
export interface NetworkForm {
  readonly isOnline: boolean;
  /** An entry in a line. */
  readonly allowed: string;
  readonly denied: string;
}

/** An update replaces all rules: so it repeats those that the form does not show, as the sandbox has them now. */
export function networkUpdate(
  { network }: Pick<SandboxDetail, "network">,
  { isOnline, allowed, denied }: NetworkForm,
): SandboxNetworkUpdateConfig {
  const { rules, secrets, dnsServers, egressProxy } = network ?? {};
  return {
    allow_internet_access: isOnline,
    allowOut: linesOf(allowed),
    denyOut: linesOf(denied),
    ...(rules && { rules }),
    ...(secrets && { secrets }),
    ...(dnsServers && { dnsServers }),
    ...(egressProxy && { egressProxy }),
  };
}

/** Why the form cannot be used: the server gives a proxy's password and certificate to nobody, so an update from here would lose them. */
export const whyNotHere = ({ network }: Pick<SandboxDetail, "network">): string | undefined =>
  network?.egressProxy
    ? `All connections go through the proxy ${network.egressProxy.address}. Change the rules with the API, which needs the proxy's password again.`
    : undefined;

const linesOf = (text: string) => text.split("\n").flatMap((line) => line.trim() || []);
