import { AppError } from "@boxyard/core";
import type { KeptSpec, SandboxHandle } from "@boxyard/driver";
import type { KubeApi } from "./api/client.ts";
import { INIT_KEY } from "./manifest.ts";
import { ANNOTATIONS, handleOf, nameOf } from "./names.ts";
import { hasEnded, isRunning } from "./phase.ts";
import type { Pod } from "./pod.ts";

export const notFound = ({ sandboxId, incarnation }: SandboxHandle) =>
  new AppError("not_found", `There is no sandbox ${sandboxId} (incarnation ${incarnation})`, { reason: "sandbox_not_found" });

/** A pod, and what the driver keeps of its spec. */
export interface Found {
  readonly pod: Pod;
  readonly kept: KeptSpec;
}

/** Reads the pods of sandboxes. The parts of the driver share it. */
export class Sandboxes {
  readonly path: string;
  private readonly api: KubeApi;
  /** Sandboxes that this object made or recovered; others need `recover` first. */
  private readonly known = new Set<string>();

  constructor(api: KubeApi, path: string) {
    this.api = api;
    this.path = path;
  }

  know({ sandboxId }: SandboxHandle): void {
    this.known.add(sandboxId);
  }

  isKnown({ sandboxId }: SandboxHandle): boolean {
    return this.known.has(sandboxId);
  }

  forget({ sandboxId }: SandboxHandle): void {
    this.known.delete(sandboxId);
  }

  forgetAll(): void {
    this.known.clear();
  }

  /** The pod as it is now; undefined when there is none. */
  async get({ sandboxId }: SandboxHandle): Promise<Pod | undefined> {
    try {
      return await this.api.get<Pod>(`${this.path}/${nameOf(sandboxId)}`);
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Throws `not_found`, and `data_loss`, reason `state_damaged`, when what the driver wrote cannot be read. */
  async find(handle: SandboxHandle): Promise<Found> {
    const pod = await this.get(handle);
    if (!pod) throw notFound(handle);
    const kept = readKept(pod);
    if (handleOf(pod)?.incarnation !== handle.incarnation) throw notFound(handle);
    return { pod, kept };
  }

  /** As `find`; `not_found` also for a sandbox whose init does not run. */
  async alive(handle: SandboxHandle): Promise<Found> {
    const found = await this.find(handle);
    if (!isRunning(found.pod) || hasEnded(found.pod)) throw notFound(handle);
    return found;
  }
}

function readKept(pod: Pod): KeptSpec {
  const damaged = (cause?: unknown) =>
    new AppError("data_loss", `What the cluster keeps of pod ${pod.metadata.name} is damaged`, { reason: "state_damaged", cause });
  const env = pod.spec.containers[0]?.env?.find(({ name }) => name === INIT_KEY);
  try {
    const value: unknown = JSON.parse(pod.metadata.annotations?.[ANNOTATIONS.spec] ?? "");
    if (typeof value !== "object" || value === null || !("sandboxId" in value) || !("resources" in value)) throw damaged();
    return { ...(value as KeptSpec), ...(env?.value && { initKey: env.value }) };
  } catch (error) {
    throw error instanceof AppError ? error : damaged(error);
  }
}
