import type { KubeApi } from "./api/client.ts";

/** The parts of the kubelet's summary that are read (k8s.io/kubelet, `stats/v1alpha1`). */
interface Summary {
  readonly pods?: readonly PodStats[];
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly cpu?: { readonly usageCoreNanoSeconds?: number };
  readonly memory?: { readonly usageBytes?: number; readonly workingSetBytes?: number };
  readonly network?: { readonly rxBytes?: number; readonly txBytes?: number };
  readonly "ephemeral-storage"?: { readonly usedBytes?: number };
  readonly process_stats?: { readonly process_count?: number };
}

const LIMIT_MS = 5_000;

/** What the kubelet of a node says of the pods there, which it measures every ten seconds or so. `brief`: CPU and memory alone. */
export async function nodeStats(
  api: KubeApi,
  node: string,
  options: { brief: boolean; signal?: AbortSignal },
): Promise<readonly PodStats[]> {
  const { brief, signal } = options;
  const query = brief ? { only_cpu_and_memory: "true" } : {};
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/proxy/stats/summary`;
  const { pods } = await api.get<Summary>(path, { query, limitMs: LIMIT_MS, ...(signal && { signal }) });
  return pods ?? [];
}
