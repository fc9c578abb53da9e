import type { ExitStatus, RuntimePhase } from "@boxyard/driver";
import { ANNOTATIONS } from "./names.ts";
import type { ContainerStatus, Pod } from "./pod.ts";

const containerOf = ({ status }: Pod): ContainerStatus["state"] => status?.containerStatuses?.[0]?.state;

/** Whether the pod's processes have ended for good: no sandbox's container is started again. One whose node is lost counts: nobody reaches it. */
export const hasEnded = (pod: Pod): boolean =>
  pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded" || containerOf(pod)?.terminated !== undefined || isNodeLost(pod);

/** Why the cluster has ended a pod that nobody asked it to end (Kubernetes documentation, "Pod disruption conditions"). */
const disruptionOf = ({ status }: Pod): string | undefined =>
  status?.conditions?.find(({ type, status: value }) => type === "DisruptionTarget" && value === "True")?.reason;

/** The node does not answer for its pods any more, and the cluster has given them up. Their objects stay until the node answers, or somebody removes them. */
export const isNodeLost = (pod: Pod): boolean =>
  pod.status?.reason === "NodeLost" ||
  (pod.metadata.deletionTimestamp !== undefined && ["DeletionByTaintManager", "DeletionByPodGC"].includes(disruptionOf(pod) ?? ""));

/** Whether its init runs. */
export const isRunning = (pod: Pod): boolean => !hasEnded(pod) && containerOf(pod)?.running !== undefined;

export const isGated = ({ spec }: Pod): boolean => (spec.schedulingGates?.length ?? 0) > 0;

/** `created` until its init runs, also while its node pulls the image. */
export function phaseOf(pod: Pod): RuntimePhase {
  if (hasEnded(pod)) return "stopped";
  return isRunning(pod) ? "running" : "created";
}

/** Why a pod has ended. */
export function exitOf(pod: Pod): ExitStatus {
  if (pod.metadata.annotations?.[ANNOTATIONS.endedBy] !== undefined) return { reason: "killed" };
  const { reason = "", message = "" } = pod.status ?? {};
  const terminated = containerOf(pod)?.terminated;
  if (terminated?.reason === "OOMKilled") return { reason: "out_of_memory" };
  if (reason === "Evicted") return { reason: message.includes("local storage usage exceeds") ? "out_of_disk" : "evicted" };
  if (isNodeLost(pod) || reason === "Terminated" || reason === "NodeShutdown") return { reason: "node_lost" };
  if (disruptionOf(pod) !== undefined) return { reason: "evicted" };
  if (pod.metadata.deletionTimestamp !== undefined) return { reason: "killed" };
  return { reason: terminated ? "agent_exited" : "unknown" };
}

/** What keeps a pod from starting that no waiting ends, in the cluster's words; undefined while it may start. */
export function whyNotStarting(pod: Pod): string | undefined {
  const waiting = containerOf(pod)?.waiting;
  const hopeless = ["InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "ErrImageNeverPull"];
  if (waiting?.reason !== undefined && hopeless.includes(waiting.reason)) return `${waiting.reason}: ${waiting.message ?? ""}`;
  return undefined;
}
