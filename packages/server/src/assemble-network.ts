import { assembleRecordings, type RecordingNeeds } from "./recordings/assemble.ts";
import { DriverPolicies } from "./sandboxes/egress/driver-policies.ts";
import { NetworkPresets } from "./sandboxes/egress/presets.ts";
import { TeamSecrets } from "./secrets/team-secrets.ts";

/** What the policies of networks are made of: secrets, recordings and presets. */
export function assembleNetwork(
  parts: Pick<RecordingNeeds, "store" | "clock" | "sandboxes">,
  {
    config,
    logger,
    packageHosts = () => [],
  }: Pick<RecordingNeeds, "config" | "logger"> & { readonly packageHosts?: () => readonly string[] },
) {
  const secrets = new TeamSecrets(parts);
  const recorded = assembleRecordings({ ...parts, config, logger });
  return { secrets, recorded, policies: new DriverPolicies(secrets, recorded.recordings), presets: new NetworkPresets(packageHosts) };
}
