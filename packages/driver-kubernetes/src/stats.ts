import { AppError, type SandboxId } from "@boxyard/core";
import type { ResourceStats, SandboxHandle } from "@boxyard/driver";
import { handleOf, selectorOf } from "./names.ts";
import { nodeStats, type PodStats } from "./node-stats.ts";
import type { RuntimeParts } from "./parts.ts";
import { isRunning } from "./phase.ts";
import { listPods } from "./pod-watch.ts";
import type { Found } from "./sandboxes.ts";

/** How long a kubelet may take to have measured a new pod: it looks every ten seconds, later on a busy node. */
const MEASURED_MS = 30_000;
const WAIT_MS = 500;

type StatsParts = Pick<RuntimeParts, "api" | "clock" | "config" | "sandboxes">;

/** What the kubelet has measured of a sandbox. Waits for the first measurement of a new one. Throws `unavailable`, reason `not_measured`. */
export async function measure({ api, clock }: StatsParts, { pod, kept }: Found, handle: SandboxHandle): Promise<ResourceStats> {
  const { diskBytes, memoryBytes } = kept.resources;
  const end = clock.monotonic() + MEASURED_MS;
  for (;;) {
    const stats = (await nodeStats(api, pod.spec.nodeName ?? "", { brief: false })).find(({ podRef }) => podRef.uid === pod.metadata.uid);
    if (stats && isMeasured(stats)) {
      const { usageBytes = 0, workingSetBytes = usageBytes } = stats.memory ?? {};
      return {
        cpuUsageUsec: usecOf(stats),
        memoryUsedBytes: Math.min(workingSetBytes, memoryBytes),
        memoryCacheBytes: Math.max(0, usageBytes - workingSetBytes),
        memoryLimitBytes: memoryBytes,
        diskUsedBytes: stats["ephemeral-storage"]?.usedBytes ?? 0,
        diskLimitBytes: diskBytes,
        networkReceivedBytes: stats.network?.rxBytes ?? 0,
        networkSentBytes: stats.network?.txBytes ?? 0,
        // Init and agent, at least.
        processes: Math.max(2, stats.process_stats?.process_count ?? 0),
        // A container whose memory is used up ends as a whole, and is not started again.
        oomKills: 0,
      };
    }
    if (clock.monotonic() > end) {
      throw new AppError("unavailable", `The node has not measured sandbox ${handle.sandboxId} yet; try again`, { reason: "not_measured" });
    }
    await clock.sleep(WAIT_MS);
  }
}

/** The CPU time of sandboxes: one call of the API server for the pods, and one for each node that has some of them. */
export async function measureCpu(
  { api, config, sandboxes }: StatsParts,
  handles: readonly SandboxHandle[],
): Promise<ReadonlyMap<SandboxId, number>> {
  const wanted = new Map(handles.map((handle) => [handle.sandboxId, handle.incarnation]));
  const pods = await listPods(api, sandboxes.path, selectorOf(config.instance));
  const alive = new Map(
    pods.filter(isRunning).flatMap((pod) => {
      const handle = handleOf(pod);
      return handle && wanted.get(handle.sandboxId) === handle.incarnation
        ? [[pod.metadata.uid, { handle, node: pod.spec.nodeName ?? "" }] as const]
        : [];
    }),
  );
  const nodes = new Set([...alive.values()].map(({ node }) => node));
  const perNode = await Promise.all([...nodes].map((node) => nodeStats(api, node, { brief: true }).catch(() => [])));
  // A new pod that its kubelet has not measured yet has used some CPU: it counts with the least there is, not as one that is gone.
  const times = new Map<SandboxId, number>([...alive.values()].map(({ handle }) => [handle.sandboxId, 1]));
  for (const stats of perNode.flat()) {
    const sandbox = alive.get(stats.podRef.uid);
    if (sandbox) times.set(sandbox.handle.sandboxId, Math.max(1, usecOf(stats)));
  }
  return times;
}

const usecOf = ({ cpu }: PodStats): number => Math.floor((cpu?.usageCoreNanoSeconds ?? 0) / 1000);
const isMeasured = (stats: PodStats): boolean => usecOf(stats) > 0 && (stats.memory?.usageBytes ?? stats.memory?.workingSetBytes ?? 0) > 0;
