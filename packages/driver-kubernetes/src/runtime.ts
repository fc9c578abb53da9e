import { AppError, type SandboxId, within } from "@boxyard/core";
import {
  type AgentAddress,
  type Capacity,
  checkSpec,
  type ExitStatus,
  type Fingerprint,
  type KeptSpec,
  type ResourceLimits,
  type ResourceStats,
  type RuntimeCapabilities,
  type RuntimeDriver,
  type RuntimeStatus,
  type SandboxHandle,
  type SandboxSpec,
  type Signal,
} from "@boxyard/driver";
import type { RoomOfPod } from "./capacity.ts";
import { relabelPod, resizePod } from "./changes.ts";
import { DEFAULTS } from "./config.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { labelsOf, podOf } from "./manifest.ts";
import { ANNOTATIONS, DRIVER, handleOf, nameOf, selectorOf } from "./names.ts";
import { checkExpressible, egressKind, policyOf } from "./network-policy.ts";
import type { RuntimeParts } from "./parts.ts";
import { exitOf, hasEnded, isGated, isNodeLost, isRunning, phaseOf, whyNotStarting } from "./phase.ts";
import type { Pod } from "./pod.ts";
import { listPods } from "./pod-watch.ts";
import { notFound } from "./sandboxes.ts";
import { agentAnswers } from "./start.ts";
import { measure, measureCpu } from "./stats.ts";

/** The port of the agent in every sandbox. */
const AGENT_PORT = 49_983;
/** How long the cluster may take to remove a pod: a node that does not answer keeps it. */
const REMOVAL_MS = 60_000;
const never = new AbortController().signal;

/** Sandboxes that are pods. `create` makes the pod, which waits at a gate of the scheduler; `start` opens the gate. */
export class KubernetesRuntime implements RuntimeDriver {
  readonly name = DRIVER;
  readonly capabilities: RuntimeCapabilities = { freeze: false, resize: true, resizeDisk: false, relabel: "remote", setsMemoryAside: true };
  private readonly parts: RuntimeParts;

  constructor(parts: RuntimeParts) {
    this.parts = parts;
  }

  fingerprint(): Promise<Fingerprint> {
    return fingerprintOf(this.parts.api, this.parts.config);
  }

  capacity(): Promise<Capacity> {
    return this.parts.capacity.get();
  }

  /** Nothing of a pod is a cache. */
  async reclaim(): Promise<boolean> {
    return false;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    signal.throwIfAborted();
    const { api, config, sandboxes, capacity } = this.parts;
    checkSpec(spec);
    checkExpressible(spec.network);
    refuseAbsent(spec);
    const image = config.imageOf(spec.image.digest);
    if (image === undefined) {
      throw new AppError("not_found", `Image ${spec.image.digest} is not in the cluster's registry; push the template`, {
        reason: "image_not_found",
      });
    }
    const handle = { driver: DRIVER, sandboxId: spec.sandboxId, incarnation: spec.incarnation };
    const exists = () => new AppError("already_exists", `Sandbox ${spec.sandboxId} exists already`, { reason: "sandbox_exists" });
    if (await sandboxes.get(handle)) throw exists();
    try {
      // The policy is there before the pod, so that no process ever runs without it.
      if (egressKind(spec.network) === "listed") {
        await api.post(this.policiesPath, policyOf(spec, config.instance, labelsOf(config.instance, spec)), { signal });
      }
      capacity.add(await api.post<RoomOfPod>(sandboxes.path, podOf(spec, image, config), { signal }));
    } catch (error) {
      if (error instanceof AppError && error.code === "already_exists") throw exists();
      // The API server may have made the pod although its answer did not arrive.
      await this.destroy(handle).catch(() => {});
      signal.throwIfAborted();
      throw error;
    }
    sandboxes.know(handle);
    return handle;
  }

  async start(handle: SandboxHandle, signal: AbortSignal): Promise<void> {
    const { api, config, clock, sandboxes, watch } = this.parts;
    const { pod } = await sandboxes.find(handle);
    if (!isGated(pod)) {
      throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} was started already`, { reason: "already_started" });
    }
    const { name, uid } = pod.metadata;
    const limitMs = config.startLimitMs ?? DEFAULTS.startLimitMs;
    const late = () =>
      new AppError("deadline_exceeded", `The sandbox's pod was not ready within ${limitMs / 1000} s; see kubectl describe pod ${name}`, {
        reason: "start_timeout",
      });
    const giveUp = new AbortController();
    const either = AbortSignal.any([signal, giveUp.signal]);
    try {
      signal.throwIfAborted();
      await api.patch(`${sandboxes.path}/${name}`, { metadata: { uid }, spec: { schedulingGates: [] } }, { signal });
      const begin = async () => {
        const running = await watch.until(
          name,
          uid,
          (now) => !now || hasEnded(now) || isReady(now) || whyNotStarting(now) !== undefined,
          either,
        );
        await agentAnswers(addressOf(running, handle), { clock, signal: either, hasEnded: () => this.ended(handle) });
      };
      await within(begin(), limitMs, late, clock);
    } catch (error) {
      giveUp.abort(error);
      await this.destroy(handle).catch(() => {});
      signal.throwIfAborted();
      throw error;
    }
  }

  async recover(handle: SandboxHandle): Promise<RuntimeStatus> {
    const status = await this.inspect(handle);
    this.parts.sandboxes.know(handle);
    return status;
  }

  async inspect(handle: SandboxHandle): Promise<RuntimeStatus> {
    const { pod, kept } = await this.parts.sandboxes.find(handle);
    const phase = phaseOf(pod);
    return { handle, phase, frozen: false, labels: kept.labels, ...(phase === "stopped" && { exit: exitOf(pod) }) };
  }

  async stats(handle: SandboxHandle): Promise<ResourceStats> {
    return measure(this.parts, await this.parts.sandboxes.alive(handle), handle);
  }

  cpuTimes(handles: readonly SandboxHandle[]): Promise<ReadonlyMap<SandboxId, number>> {
    return measureCpu(this.parts, handles);
  }

  async address(handle: SandboxHandle): Promise<AgentAddress> {
    const { pod } = await this.parts.sandboxes.alive(handle);
    if (!this.parts.sandboxes.isKnown(handle)) throw notFound(handle);
    return addressOf(pod, handle);
  }

  async keptSpec(handle: SandboxHandle): Promise<KeptSpec> {
    return (await this.parts.sandboxes.find(handle)).kept;
  }

  /** Both signals end the pod, and leave its object: a deadline in the past is the one change by which the kubelet ends a pod that is kept. */
  async signal(handle: SandboxHandle, signal: Signal): Promise<void> {
    const { api, sandboxes } = this.parts;
    const { pod } = await sandboxes.alive(handle);
    const { name, uid } = pod.metadata;
    const metadata = { uid, annotations: { [ANNOTATIONS.endedBy]: signal } };
    await api.patch(`${sandboxes.path}/${name}`, { metadata, spec: { activeDeadlineSeconds: 1 } });
  }

  async wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus> {
    const { pod } = await this.parts.sandboxes.find(handle);
    if (!this.parts.sandboxes.isKnown(handle)) throw notFound(handle);
    if (isGated(pod)) return { reason: "unknown" };
    const { name, uid } = pod.metadata;
    let last = pod;
    const isOver = (now: Pod | undefined) => {
      last = now ?? last;
      return !now || hasEnded(now);
    };
    const ended = await this.parts.watch.until(name, uid, isOver, signal);
    if (ended) return exitOf(ended);
    // A pod that is gone was removed: by the cluster, which has noted why before, by this server, or by somebody with kubectl.
    const { reason } = exitOf(last);
    return { reason: reason === "unknown" ? "killed" : reason };
  }

  async freeze(): Promise<void> {
    throw absent("freeze");
  }

  async thaw(): Promise<void> {
    throw absent("thaw");
  }

  resize(handle: SandboxHandle, resources: ResourceLimits): Promise<void> {
    return resizePod(this.parts, handle, resources);
  }

  relabel(handle: SandboxHandle, labels: SandboxSpec["labels"]): Promise<void> {
    return relabelPod(this.parts, handle, labels);
  }

  async destroy(handle: SandboxHandle): Promise<void> {
    const { api, clock, sandboxes, watch, capacity } = this.parts;
    const pod = await sandboxes.get(handle);
    // The incarnation of an older handle is gone already; a newer one does not belong to this handle.
    if (pod && !isDamaged(pod) && handleOf(pod)?.incarnation !== handle.incarnation) return;
    const name = nameOf(handle.sandboxId);
    if (pod) {
      const { uid } = pod.metadata;
      // A node that is lost confirms nothing. If it comes back, its kubelet ends what has no object.
      const grace = isNodeLost(pod) ? { gracePeriodSeconds: 0 } : {};
      await ignoringAbsence(api.delete(`${sandboxes.path}/${name}`, { ...grace, preconditions: { uid } }));
      const late = () =>
        new AppError("unavailable", `The cluster has not removed pod ${name} within ${REMOVAL_MS / 1000} s; its node may be lost`, {
          reason: "pod_not_removed",
        });
      const giveUp = new AbortController();
      const gone = watch.until(name, uid, (now) => now === undefined, AbortSignal.any([never, giveUp.signal]));
      await within(gone, REMOVAL_MS, late, clock).finally(() => giveUp.abort());
      capacity.remove(uid);
    }
    await ignoringAbsence(api.delete(`${this.policiesPath}/${name}`, {}));
    sandboxes.forget(handle);
  }

  /** Pods, and policies whose pod was not made: a server was killed in between. */
  async list(): Promise<readonly SandboxHandle[]> {
    const { api, config, sandboxes } = this.parts;
    const selector = selectorOf(config.instance);
    const lists = await Promise.all([listPods(api, sandboxes.path, selector), listPods(api, this.policiesPath, selector)]);
    const handles = lists.flatMap((objects) => objects.flatMap((object) => handleOf(object) ?? []));
    return [...new Map(handles.toReversed().map((handle) => [handle.sandboxId, handle])).values()];
  }

  async close(): Promise<void> {
    this.parts.sandboxes.forgetAll();
    await Promise.all([this.parts.watch.stop(), this.parts.capacity.stop()]);
  }

  async release(): Promise<void> {
    if ((await this.list()).length > 0) {
      throw new AppError("failed_precondition", "Sandboxes are left; destroy them first", { reason: "sandboxes_left" });
    }
    const { api, config } = this.parts;
    for (const name of ["closed", "internet"]) {
      await ignoringAbsence(api.delete(`${this.policiesPath}/boxyard-${config.instance}-${name}`, {}));
    }
  }

  private get policiesPath(): string {
    return policiesPath(this.parts.config.namespace);
  }

  private async ended(handle: SandboxHandle): Promise<boolean> {
    const pod = await this.parts.sandboxes.get(handle);
    return pod === undefined || hasEnded(pod);
  }
}

export const policiesPath = (namespace: string): string => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;

const absent = (verb: string) => new AppError("unimplemented", `Pods have no ${verb}`, { reason: `${verb}_unimplemented` });

const isReady = (pod: Pod): boolean => isRunning(pod) && pod.status?.podIP !== undefined;

function isDamaged(pod: Pod): boolean {
  try {
    return typeof JSON.parse(pod.metadata.annotations?.[ANNOTATIONS.spec] ?? "") !== "object";
  } catch {
    return true;
  }
}

/** Refuses what a spec may have only with a capability that pods lack. */
function refuseAbsent({ from, volumes = [] }: SandboxSpec): void {
  if (from) throw new AppError("unimplemented", "Pods cannot start from snapshots", { reason: "snapshots_unimplemented" });
  if (volumes.length > 0) throw new AppError("unimplemented", "Pods cannot have volumes", { reason: "volumes_unimplemented" });
}

function addressOf(pod: Pod | undefined, handle: SandboxHandle): AgentAddress {
  if (!pod) throw notFound(handle);
  const { podIP } = pod.status ?? {};
  if (podIP !== undefined && !hasEnded(pod)) return { host: podIP, agentPort: AGENT_PORT };
  const why = whyNotStarting(pod) ?? `its processes have ended (${exitOf(pod).reason})`;
  throw new AppError("unavailable", `The sandbox's pod did not start: ${why}`, { reason: "pod_not_started" });
}

async function ignoringAbsence(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof AppError && (error.code === "not_found" || error.code === "aborted"))) throw error;
  });
}
