import { AppError, type Clock } from "@boxyard/core";
import type { KubeApi } from "./api/client.ts";
import type { DriverLogger } from "./config.ts";
import { Follow, listAll } from "./follow.ts";
import type { Pod } from "./pod.ts";

type Listener = (pod: Pod | undefined) => void;

/** All pods of a server. */
export const listPods = async (api: KubeApi, path: string, selector: string): Promise<Pod[]> =>
  (await listAll<Pod>(api, path, { labelSelector: selector })).items;

/**
 * Follows the pods of a server by one watch, and tells those who wait for a change of one of them. It keeps nothing of a pod but its version: what a pod
 * is now is the API server's to say.
 */
export class PodWatch {
  private readonly api: KubeApi;
  private readonly path: string;
  private readonly follow: Follow<Pod>;
  private readonly listeners = new Map<string, Set<Listener>>();

  constructor(api: KubeApi, options: { path: string; selector: string; clock: Clock; logger: DriverLogger }) {
    this.api = api;
    this.path = options.path;
    this.follow = new Follow<Pod>(api, {
      ...options,
      query: { labelSelector: options.selector },
      onList: (pods) => {
        const there = new Map(pods.map((pod) => [pod.metadata.name, pod]));
        for (const name of this.listeners.keys()) this.tell(name, there.get(name));
      },
      onChange: (pod, gone) => this.tell(pod.metadata.name, gone ? undefined : pod),
    });
  }

  /** Repeatable. */
  start(): void {
    this.follow.start();
  }

  stop(): Promise<void> {
    return this.follow.stop();
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
    this.follow.signal.addEventListener("abort", closed, { once: true });
    if (this.follow.signal.aborted) closed();
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(look));
    try {
      this.get(name).then(look, reject);
      return await promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
      this.follow.signal.removeEventListener("abort", closed);
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

  private tell(name: string, pod: Pod | undefined): void {
    for (const listener of this.listeners.get(name) ?? []) listener(pod);
  }
}
