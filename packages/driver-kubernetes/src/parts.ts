import type { Clock } from "@boxyard/core";
import type { KubeApi } from "./api/client.ts";
import type { ClusterCapacity } from "./capacity.ts";
import type { KubernetesDriverConfig } from "./config.ts";
import type { PodWatch } from "./pod-watch.ts";
import type { Sandboxes } from "./sandboxes.ts";

/** What the driver's parts share. */
export interface RuntimeParts {
  readonly api: KubeApi;
  readonly config: KubernetesDriverConfig;
  readonly clock: Clock;
  readonly sandboxes: Sandboxes;
  readonly watch: PodWatch;
  readonly capacity: ClusterCapacity;
}
