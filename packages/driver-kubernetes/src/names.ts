import { isSandboxId, type SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import type { Pod } from "./pod.ts";

/** The driver's name in handles. */
export const DRIVER = "kubernetes";

/** Labels, by which users of `kubectl` find sandboxes too. */
export const LABELS = {
  managedBy: "app.kubernetes.io/managed-by",
  instance: "boxyard.dev/instance",
  sandbox: "boxyard.dev/sandbox",
  incarnation: "boxyard.dev/incarnation",
  /** `internet`, `none` or `listed`: which NetworkPolicy the pod has. */
  egress: "boxyard.dev/egress",
} as const;

export const ANNOTATIONS = {
  /** `KeptSpec` without the init key, JSON. */
  spec: "boxyard.dev/spec",
  /** The agent's `limits.json`. */
  limits: "boxyard.dev/limits",
  /** Why the server has ended the sandbox, written before the deed. */
  endedBy: "boxyard.dev/ended-by",
} as const;

/** The value of `managedBy`. */
export const MANAGER = "boxyard";
export const CONTAINER = "sandbox";
/** Keeps a pod from a node, and so from having processes, until `start`. */
export const START_GATE = "boxyard.dev/start";

/** The name of a sandbox's objects. Two incarnations never exist at once. */
export const nameOf = (sandboxId: SandboxId): string => `sandbox-${sandboxId}`;

/** Selects the objects of one server. */
export const selectorOf = (instance: string): string => `${LABELS.managedBy}=${MANAGER},${LABELS.instance}=${instance}`;

/** The sandbox of an object, from its labels; undefined for an object without them. */
export function handleOf(object: Pick<Pod, "metadata">): SandboxHandle | undefined {
  const labels = object.metadata.labels ?? {};
  const sandboxId = labels[LABELS.sandbox] ?? "";
  const incarnation = Number(labels[LABELS.incarnation]);
  if (!isSandboxId(sandboxId)) return undefined;
  return { driver: DRIVER, sandboxId, incarnation: Number.isSafeInteger(incarnation) && incarnation > 0 ? incarnation : 1 };
}
