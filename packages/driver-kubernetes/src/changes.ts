import { AppError, within } from "@boxyard/core";
import {
  checkLabels,
  checkResources,
  inUse,
  type KeptSpec,
  type ResourceLimits,
  type SandboxHandle,
  type SandboxSpec,
} from "@boxyard/driver";
import { DEFAULTS } from "./config.ts";
import { resourcesOf } from "./manifest.ts";
import { ANNOTATIONS, CONTAINER } from "./names.ts";
import type { RuntimeParts } from "./parts.ts";
import { hasEnded } from "./phase.ts";
import type { Pod } from "./pod.ts";
import { quantity } from "./quantity.ts";
import { notFound } from "./sandboxes.ts";
import { measure } from "./stats.ts";

/** How often a change of what is kept is begun anew, because the pod has changed meanwhile: its kubelet writes its state. */
const MOST_TRIES = 10;
/** Milliseconds that a node may take to change the limits of a pod. */
const RESIZE_MS = 30_000;

/** Changes what is kept of a running sandbox. */
async function changeKept({ api, sandboxes }: RuntimeParts, handle: SandboxHandle, change: (kept: KeptSpec) => KeptSpec): Promise<void> {
  for (let left = MOST_TRIES; ; left--) {
    const { pod, kept } = await sandboxes.alive(handle);
    const { name, uid, resourceVersion } = pod.metadata;
    const { initKey: _, ...next } = change(kept);
    const annotations = { [ANNOTATIONS.spec]: JSON.stringify(next), [ANNOTATIONS.limits]: JSON.stringify(next.resources) };
    try {
      await api.patch(`${sandboxes.path}/${name}`, { metadata: { uid, resourceVersion, annotations } });
      return;
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") throw notFound(handle);
      if (left === 0 || !(error instanceof AppError && error.code === "aborted")) throw error;
    }
  }
}

/** See `RuntimeDriver.relabel`. */
export async function relabelPod(parts: RuntimeParts, handle: SandboxHandle, labels: SandboxSpec["labels"]): Promise<void> {
  checkLabels(labels);
  await changeKept(parts, handle, (kept) => ({ ...kept, labels }));
}

/** See `RuntimeDriver.resize`. The kubelet changes the limits in place, and the downward API the file that shows them. */
export async function resizePod(parts: RuntimeParts, handle: SandboxHandle, wanted: ResourceLimits): Promise<void> {
  checkResources(wanted);
  const found = await parts.sandboxes.alive(handle);
  const { resources: present } = found.kept;
  if (wanted.diskBytes !== present.diskBytes) {
    throw new AppError("unimplemented", "The disk of a pod cannot be changed while it runs", { reason: "disk_resize_unimplemented" });
  }
  if (wanted.memoryBytes < present.memoryBytes) {
    const { memoryUsedBytes } = await measure(parts, found, handle);
    if (memoryUsedBytes > wanted.memoryBytes) throw inUse("memory", memoryUsedBytes, wanted.memoryBytes);
  }
  const { pod } = found;
  try {
    await resizeTo(parts, pod, wanted);
  } catch (error) {
    await askFor(parts, pod, present).catch(() => {});
    if (error instanceof AppError && error.code === "not_found") throw notFound(handle);
    throw error;
  }
  await changeKept(parts, handle, (kept) => ({ ...kept, resources: wanted }));
}

/** Resolves when the container has the limits. Throws `unavailable`, reason `no_room_on_node`, when its node has no room for them, or takes too long. */
async function resizeTo(parts: RuntimeParts, pod: Pod, wanted: ResourceLimits): Promise<void> {
  await askFor(parts, pod, wanted);
  const noRoom = (why: string) =>
    new AppError("unavailable", `The sandbox's node cannot give it these limits now: ${why}`, { reason: "no_room_on_node" });
  const late = () => noRoom(`not within ${RESIZE_MS / 1000} s`);
  const { name, uid } = pod.metadata;
  const isOver = (now: Pod | undefined) => !now || hasEnded(now) || hasLimits(now, wanted) || refusalOf(now) !== undefined;
  const giveUp = new AbortController();
  const resized = parts.watch.until(name, uid, isOver, giveUp.signal);
  const after = await within(resized, RESIZE_MS, late, parts.clock).finally(() => giveUp.abort());
  if (!after || hasEnded(after)) throw new AppError("not_found", `Pod ${name} has ended`);
  const why = hasLimits(after, wanted) ? undefined : refusalOf(after);
  if (why !== undefined) throw noRoom(why);
}

async function askFor({ api, config, sandboxes }: RuntimeParts, { metadata: { name, uid } }: Pod, wanted: ResourceLimits): Promise<void> {
  const all = resourcesOf(wanted, config.cpuRequest ?? DEFAULTS.cpuRequest);
  const cpuAndMemory = ({ cpu, memory }: { cpu: string; memory: string }) => ({ cpu, memory });
  const resources = { limits: cpuAndMemory(all.limits), requests: cpuAndMemory(all.requests) };
  const body = { metadata: { uid }, spec: { containers: [{ name: CONTAINER, resources }] } };
  await api.patch(`${sandboxes.path}/${name}/resize`, body, { patch: "application/strategic-merge-patch+json" });
}

/** Whether the container runs with these limits. */
function hasLimits({ status }: Pod, { cpuCount, memoryBytes }: ResourceLimits): boolean {
  const limits = status?.containerStatuses?.[0]?.resources?.limits;
  return quantity(limits?.memory) === Math.floor(memoryBytes) && Math.abs(quantity(limits?.cpu) - cpuCount) < 0.001;
}

/** Why the node does not change the limits: `Deferred` would wait for others to end. */
function refusalOf({ status }: Pod): string | undefined {
  const pending = status?.conditions?.find(({ type, status: value }) => type === "PodResizePending" && value === "True");
  return pending && `${pending.reason}: ${pending.message ?? ""}`;
}
