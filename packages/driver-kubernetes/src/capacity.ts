import type { Clock } from "@boxyard/core";
import type { Capacity } from "@boxyard/driver";
import type { KubeApi } from "./api/client.ts";
import { quantity } from "./quantity.ts";

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly { readonly effect: string }[] };
    readonly status?: {
      readonly allocatable?: Readonly<Record<string, string>>;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  }[];
}

interface PodRequests {
  readonly items: readonly {
    readonly spec: {
      readonly nodeName?: string;
      readonly containers: readonly { readonly resources?: { readonly requests?: Readonly<Record<string, string>> } }[];
    };
    readonly status?: { readonly phase?: string };
  }[];
}

/** Processes that a node is expected to carry for each of its pods: the API tells only its number of pods. */
const PROCESSES_OF_POD = 256;
/** Milliseconds for which an account is used again: it is asked for before every create. */
const KEEP_MS = 1_000;

/** What the nodes have for sandboxes, and what no pod has claimed of it. */
export class ClusterCapacity {
  private readonly api: KubeApi;
  private readonly clock: Clock;
  private last: { readonly at: number; readonly account: Promise<Capacity> } | undefined;

  constructor(api: KubeApi, clock: Clock) {
    this.api = api;
    this.clock = clock;
  }

  get(): Promise<Capacity> {
    const now = this.clock.monotonic();
    if (this.last && now - this.last.at < KEEP_MS) return this.last.account;
    const account = this.count();
    this.last = { at: now, account };
    account.catch(() => {
      this.last = undefined;
    });
    return account;
  }

  /** The next `get` counts anew: a sandbox was made or removed. */
  forget(): void {
    this.last = undefined;
  }

  private async count(): Promise<Capacity> {
    const [nodes, pods] = await Promise.all([
      this.api.get<NodeList>("/api/v1/nodes", { query: { resourceVersion: "0" } }),
      this.api.get<PodRequests>("/api/v1/pods", { query: { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } }),
    ]);
    const usable = nodes.items.filter(({ spec, status }) => {
      const ready = status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
      return ready && !spec?.unschedulable && !spec?.taints?.some(({ effect }) => effect !== "PreferNoSchedule");
    });
    const names = new Set(usable.map(({ metadata }) => metadata.name));
    const total = (resource: string) => usable.reduce((sum, { status }) => sum + quantity(status?.allocatable?.[resource]), 0);
    // A pod that waits for a node will take its part of one.
    const placed = pods.items.filter(({ spec }) => spec.nodeName === undefined || names.has(spec.nodeName));
    const requests = placed.flatMap(({ spec }) => spec.containers.map(({ resources }) => resources?.requests ?? {}));
    const claimed = requests.reduce((sum, { memory }) => sum + quantity(memory), 0);
    const [memory, disk, most] = [total("memory"), total("ephemeral-storage"), total("pods")];
    return {
      memoryLimitBytes: memory,
      memoryFreeBytes: Math.max(0, memory - claimed),
      processLimit: most * PROCESSES_OF_POD,
      processesFree: Math.max(0, most - placed.length) * PROCESSES_OF_POD,
      diskLimitBytes: disk,
      diskFreeBytes: disk,
    };
  }
}
