import { AppError, type SandboxId, systemClock } from "@boxyard/core";
import {
  type CheckpointDriver,
  DriverOfParts,
  type EgressPolicy,
  type NetworkDriver,
  type SandboxHandle,
  type SandboxSpec,
  type TakenAttempts,
} from "@boxyard/driver";
import { KubeApi } from "./api/client.ts";
import { ClusterCapacity } from "./capacity.ts";
import type { KubernetesDriverConfig, NetworkPeer } from "./config.ts";
import { selectorOf } from "./names.ts";
import { sharedPolicies } from "./network-policy.ts";
import { PodWatch } from "./pod-watch.ts";
import { KubernetesRuntime, policiesPath } from "./runtime.ts";
import { Sandboxes } from "./sandboxes.ts";

const SERVER: NetworkPeer = { podSelector: { matchLabels: { "app.kubernetes.io/name": "boxyard" } } };
/** The name under which the API server notes which fields of the policies are the server's. */
const FIELD_MANAGER = "boxyard";

/** Sandboxes as pods of a cluster. */
export class KubernetesDriver extends DriverOfParts {}

/**
 * Opens the driver: makes the NetworkPolicies that all sandboxes share, and follows the pods. Sandboxes of an earlier server are known after `recover`.
 * Throws as `KubeApi`.
 */
export async function openKubernetesDriver(config: KubernetesDriverConfig): Promise<KubernetesDriver> {
  const { access, namespace, instance, logger, clock = systemClock, serverPeers = [SERVER] } = config;
  const api = new KubeApi(access, clock);
  for (const { name, policy } of sharedPolicies(instance, serverPeers)) {
    const query = { fieldManager: FIELD_MANAGER, force: "true" };
    await api.patch(`${policiesPath(namespace)}/${name}`, policy, { query, patch: "application/apply-patch+yaml" });
  }
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const watch = new PodWatch(api, { path, selector: selectorOf(instance), clock, logger });
  watch.start();
  const sandboxes = new Sandboxes(api, path);
  const capacity = new ClusterCapacity(api, { clock, logger });
  capacity.start();
  return new KubernetesDriver({
    runtime: new KubernetesRuntime({ api, config, clock, sandboxes, watch, capacity }),
    network: new FixedNetwork(sandboxes),
    checkpoint: new NoCheckpoint(sandboxes),
  });
}

/** The network of a pod is that of its spec until it ends. */
class FixedNetwork implements NetworkDriver {
  readonly capabilities = { network: false, loopback: false } as const;
  private readonly sandboxes: Sandboxes;

  constructor(sandboxes: Sandboxes) {
    this.sandboxes = sandboxes;
  }

  async setNetwork(handle: SandboxHandle, _network: EgressPolicy): Promise<void> {
    await this.sandboxes.find(handle);
    throw new AppError("unimplemented", "The network of a pod cannot be changed", { reason: "network_unimplemented" });
  }

  /** A cluster reports no packets. */
  takeAttempts(): TakenAttempts {
    return { attempts: [], dropped: new Map() };
  }

  async connectInside(): Promise<number | undefined> {
    throw new AppError("unimplemented", "The server is on another machine than the sandbox", { reason: "loopback_unimplemented" });
  }
}

/** Pods are not paused, so there are no generations. */
class NoCheckpoint implements CheckpointDriver {
  readonly capabilities = { checkpoint: "none" } as const;
  private readonly sandboxes: Sandboxes;

  constructor(sandboxes: Sandboxes) {
    this.sandboxes = sandboxes;
  }

  async pause(handle: SandboxHandle): Promise<never> {
    await this.sandboxes.find(handle);
    throw new AppError("unimplemented", "Pods cannot be paused", { reason: "no_checkpoint" });
  }

  async generation(): Promise<undefined> {
    return undefined;
  }

  async resume({ sandboxId }: SandboxSpec): Promise<never> {
    throw noGeneration(sandboxId);
  }

  async revert(sandboxId: SandboxId): Promise<never> {
    throw noGeneration(sandboxId);
  }

  async dropGeneration(): Promise<void> {}
}

const noGeneration = (sandboxId: SandboxId) =>
  new AppError("not_found", `Sandbox ${sandboxId} is not paused`, { reason: "generation_not_found" });
