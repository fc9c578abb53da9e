import type { SandboxId } from "@boxyard/core";
import type { EgressPolicy } from "@boxyard/driver";
import type { NetworkLease, SandboxNetworks } from "../../parts.ts";
import type { Lab, StandIn } from "./lab.ts";

/** A stand-in of a sandbox, with a link of its own. */
export interface Plugged {
  readonly standIn: StandIn;
  readonly lease: NetworkLease;
}

let count = 0;

/** Starts a stand-in and attaches it, with this policy from its allocation on. */
export async function plugIn(lab: Lab, networks: SandboxNetworks, egress: EgressPolicy): Promise<Plugged> {
  const standIn = await lab.sandbox();
  const lease = networks.allocate(`i${++count}` as SandboxId, 1, egress);
  await networks.attach(lease, standIn.pid, egress);
  return { standIn, lease };
}
