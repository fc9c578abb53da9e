import { AppError, type Clock, within } from "@boxyard/core";
import type { Capacity } from "@boxyard/driver";
import type { KubeApi } from "./api/client.ts";
import type { DriverLogger } from "./config.ts";
import { type ApiObject, Follow } from "./follow.ts";
import { quantity } from "./quantity.ts";

interface Node extends ApiObject {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly { readonly effect: string }[] };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A pod, as far as it takes room. */
export interface RoomOfPod extends ApiObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly resources?: { readonly requests?: Readonly<Record<string, string>> } }[];
  };
}

/** What a node has, or a pod takes. */
interface Room {
  readonly memory: number;
  readonly disk: number;
  readonly pods: number;
}

/** Processes that a node is expected to carry for each of its pods: the API tells only its number of pods. */
const PROCESSES_OF_POD = 256;
/** Milliseconds until the first account, after which the cluster counts as away. */
const FIRST_MS = 10_000;
/** Milliseconds within which the watch reports a pod that this server has made. */
const SEEN_MS = 10_000;

/**
 * What the nodes have for sandboxes, and what no pod has claimed of it. It follows the nodes and the pods of all namespaces, and keeps a few numbers of
 * each, so an account takes no call. While the API server is away, the last account holds.
 */
export class ClusterCapacity {
  private readonly clock: Clock;
  private readonly follows: readonly [Follow<Node>, Follow<RoomOfPod>];
  private readonly nodes = new Map<string, Room>();
  /** By their uid: what each takes, and on which node; undefined while it waits for one. */
  private readonly pods = new Map<string, { readonly node: string | undefined; readonly memory: number }>();
  /** What this server has made and the watch has not told yet. */
  private readonly made = new Map<string, { readonly memory: number; readonly at: number }>();
  private readonly listed = { nodes: Promise.withResolvers<void>(), pods: Promise.withResolvers<void>() };

  constructor(api: KubeApi, { clock, logger }: { readonly clock: Clock; readonly logger: DriverLogger }) {
    this.clock = clock;
    const nodes = new Follow<Node>(api, {
      ...{ path: "/api/v1/nodes", query: {}, clock, logger },
      onList: (all) => {
        this.nodes.clear();
        for (const node of all) this.noteNode(node, false);
        this.listed.nodes.resolve();
      },
      onChange: (node, gone) => this.noteNode(node, gone),
    });
    const pods = new Follow<RoomOfPod>(api, {
      ...{ path: "/api/v1/pods", query: { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" }, clock, logger },
      onList: (all) => {
        this.pods.clear();
        for (const pod of all) this.notePod(pod, false);
        this.listed.pods.resolve();
      },
      onChange: (pod, gone) => this.notePod(pod, gone),
    });
    this.follows = [nodes, pods];
  }

  /** Repeatable. */
  start(): void {
    for (const follow of this.follows) follow.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.follows.map((follow) => follow.stop()));
  }

  /** Throws `unavailable`, reason `cluster_unavailable`, when the cluster has told nothing within ten seconds from the start. */
  async get(): Promise<Capacity> {
    const late = () =>
      new AppError("unavailable", "The API server of the cluster does not answer; try again", { reason: "cluster_unavailable" });
    await within(Promise.all([this.listed.nodes.promise, this.listed.pods.promise]), FIRST_MS, late, this.clock);
    return this.count();
  }

  /** A pod that this server has made takes its room at once. */
  add({ metadata, spec }: RoomOfPod): void {
    if (!this.pods.has(metadata.uid)) this.made.set(metadata.uid, { memory: memoryOf(spec), at: this.clock.monotonic() });
  }

  /** A pod that this server has removed takes none. */
  remove(uid: string): void {
    this.pods.delete(uid);
    this.made.delete(uid);
  }

  private noteNode({ metadata, spec, status }: Node, gone: boolean): void {
    const isReady = status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
    const isUsable = isReady && !spec?.unschedulable && !spec?.taints?.some(({ effect }) => effect !== "PreferNoSchedule");
    const has = (resource: string) => quantity(status?.allocatable?.[resource]);
    if (gone || !isUsable) this.nodes.delete(metadata.name);
    else this.nodes.set(metadata.name, { memory: has("memory"), disk: has("ephemeral-storage"), pods: has("pods") });
  }

  private notePod({ metadata, spec }: RoomOfPod, gone: boolean): void {
    this.made.delete(metadata.uid);
    if (gone) this.pods.delete(metadata.uid);
    else this.pods.set(metadata.uid, { node: spec.nodeName, memory: memoryOf(spec) });
  }

  private count(): Capacity {
    const total = (resource: keyof Room) => [...this.nodes.values()].reduce((sum, room) => sum + room[resource], 0);
    const now = this.clock.monotonic();
    for (const [uid, { at }] of this.made) if (now - at > SEEN_MS) this.made.delete(uid);
    // A pod that waits for a node will take its part of one.
    const placed = [...this.pods.values()].filter(({ node }) => node === undefined || this.nodes.has(node));
    const claims = [...placed, ...this.made.values()];
    const claimed = claims.reduce((sum, { memory }) => sum + memory, 0);
    const [memory, disk, most] = [total("memory"), total("disk"), total("pods")];
    return {
      memoryLimitBytes: memory,
      memoryFreeBytes: Math.max(0, memory - claimed),
      processLimit: most * PROCESSES_OF_POD,
      processesFree: Math.max(0, most - claims.length) * PROCESSES_OF_POD,
      diskLimitBytes: disk,
      diskFreeBytes: disk,
    };
  }
}

const memoryOf = ({ containers }: RoomOfPod["spec"]): number =>
  containers.reduce((sum, { resources }) => sum + quantity(resources?.requests?.memory), 0);
