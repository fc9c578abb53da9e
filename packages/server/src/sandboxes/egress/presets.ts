import { AppError } from "@boxyard/core";
import { MAX_EGRESS_ENTRIES } from "@boxyard/driver";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { NetworkPreset } from "../../store/index.ts";

type Network = NonNullable<NewSandbox["network"]>;
type Lists = Pick<Network, "allowOut" | "denyOut" | "preset">;

/** What a preset closes; `allowOut` opens beside it. */
const ALL_DENIED = ["0.0.0.0/0"];

const refuse = (message: string) => new AppError("invalid_argument", message, { reason: "invalid_argument" });

/** The presets of networks: names for policies that users want most. */
export class NetworkPresets {
  private readonly packageHosts: () => readonly string[];

  /** `packageHosts`: the hosts of the package registries that the machine is set to use; read at each request. */
  constructor(packageHosts: () => readonly string[]) {
    this.packageHosts = packageHosts;
  }

  /**
   * The network with the lists that its preset stands for, and what was given, to be shown. Throws `failed_precondition`, reason
   * `no_package_registries`, when the machine is set to use none.
   */
  applied<T extends Lists>(network: T): T & { readonly given?: NetworkPreset } {
    const { preset, allowOut, denyOut } = network;
    if (!preset) return network;
    const given = { name: preset, ...(allowOut && { allowOut }), ...(denyOut && { denyOut }) };
    if (preset === "all") return { ...network, given };
    const allowed = unique(preset === "packages" ? this.registries() : [], allowOut ?? []);
    const denied = unique(ALL_DENIED, denyOut ?? []);
    if (allowed.length > MAX_EGRESS_ENTRIES || denied.length > MAX_EGRESS_ENTRIES)
      throw refuse(`network.preset: with the entries of '${preset}', a list has more than ${MAX_EGRESS_ENTRIES}`);
    return { ...network, ...(allowed.length > 0 && { allowOut: allowed }), denyOut: denied, given };
  }

  private registries(): readonly string[] {
    const hosts = this.packageHosts();
    if (hosts.length > 0) return hosts;
    const hint = "Name the hosts in network.allowOut, or set a registry for the pip, npm, apt, cargo or go of the server's machine.";
    const message = `network.preset: the server's machine is set to use no package registry that sandboxes can reach. ${hint}`;
    throw new AppError("failed_precondition", message, { reason: "no_package_registries" });
  }
}

const unique = (first: readonly string[], more: readonly string[]): string[] => [...new Set([...first, ...more])];
