import { AppError, type Clock } from "@boxyard/core";
import type { KubeApi } from "./api/client.ts";
import type { DriverLogger } from "./config.ts";
import type { Pod } from "./pod.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** Seconds after which the API server ends a watch, so that a connection that died unnoticed is replaced. */
const WATCH_SECONDS = "240";
/** Pods in one answer of a list. */
const PAGE = "500";

type Listener = (pod: Pod | undefined) => void;

interface PodList {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly Pod[];
}

/** All pods of a server, in pages. */
export async function listPods(
  api: KubeApi,
  path: string,
  selector: string,
  signal?: AbortSignal,
): Promise<{ pods: Pod[]; version: string }> {
  const pods: Pod[] = [];
  let next = "";
  for (;;) {
    const query = { labelSelector: selector, limit: PAGE, ...(next && { continue: next }) };
    const { metadata, items } = await api.get<PodList>(path, { query, ...(signal && { signal }) });
    pods.push(...items);
    next = metadata.continue ?? "";
    if (next === "") return { pods, version: metadata.resourceVersion ?? "" };
  }
}

/**
 * Follows the pods of a server by one watch, and tells those who wait for a change of one of them. It keeps nothing of a pod but its version: what a pod
 * is now is the API server's to say.
 */
export class PodWatch {
  private readonly api: KubeApi;
  private readonly path: string;
  private readonly selector: string;
  private readonly clock: Clock;
  private readonly logger: DriverLogger;
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(api: KubeApi, options: { path: string; selector: string; clock: Clock; logger: DriverLogger }) {
    this.api = api;
    this.path = options.path;
    this.selector = options.selector;
    this.clock = options.clock;
    this.logger = options.logger;
  }

  /** Repeatable. */
  start(): void {
    this.loop ??= this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  /**
   * Resolves with the first state of the pod for which `isIt` holds; undefined is a pod that is gone. The pod is read first, so that a change before this
   * call is not missed. `uid`: a later pod of the same name counts as gone.
   */
  async until(name: string, uid: string, isIt: (pod: Pod | undefined) => boolean, signal: AbortSignal): Promise<Pod | undefined> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Pod | undefined>();
    const look = (pod: Pod | undefined) => {
      const same = pod?.metadata.uid === uid ? pod : undefined;
      if (isIt(same)) resolve(same);
    };
    const giveUp = () => reject(signal.reason);
    const closed = () => reject(new AppError("canceled", "The driver was closed", { reason: "driver_closed" }));
    signal.addEventListener("abort", giveUp, { once: true });
    this.stopping.signal.addEventListener("abort", closed, { once: true });
    if (this.stopping.signal.aborted) closed();
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(look));
    try {
      this.get(name).then(look, reject);
      return await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
      this.stopping.signal.removeEventListener("abort", closed);
      listeners.delete(look);
      if (listeners.size === 0) this.listeners.delete(name);
    }
  }

  private get(name: string): Promise<Pod | undefined> {
    return this.api.get<Pod>(`${this.path}/${name}`).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      // The watch goes on, and tells what happens after the outage.
      if (error instanceof AppError && error.code === "unavailable") return new Promise<never>(() => {});
      throw error;
    });
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        await this.followOnce(() => {
          waitMs = FIRST_WAIT_MS;
        });
      } catch (error) {
        if (signal.aborted) return;
        this.logger.warn({ err: error }, "the watch of the cluster's pods was lost; it is opened again");
        await this.clock.sleep(waitMs, signal).catch(() => {});
        waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
      }
    }
  }

  /** Lists all pods, then follows their changes until the API server ends the watch or has forgotten the version. */
  private async followOnce(onOpen: () => void): Promise<void> {
    const { signal } = this.stopping;
    const { pods, version } = await listPods(this.api, this.path, this.selector, signal);
    const there = new Map(pods.map((pod) => [pod.metadata.name, pod]));
    for (const name of this.listeners.keys()) this.tell(name, there.get(name));
    onOpen();
    let resourceVersion = version;
    while (!signal.aborted) {
      const query = { labelSelector: this.selector, resourceVersion, allowWatchBookmarks: "true", timeoutSeconds: WATCH_SECONDS };
      for await (const { type, object } of this.api.watch<Pod>(this.path, query, signal)) {
        // The version is too old: everything is listed again.
        if (type === "ERROR") return;
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        if (type !== "BOOKMARK") this.tell(object.metadata.name, type === "DELETED" ? undefined : object);
      }
    }
  }

  private tell(name: string, pod: Pod | undefined): void {
    for (const listener of this.listeners.get(name) ?? []) listener(pod);
  }
}
