import { AppError, isSandboxId } from "@boxyard/core";
import { type EgressPolicy, isEnforceable } from "../network/egress-policy.ts";
import { checkVolumeMounts } from "../storage/volume-mounts.ts";
import type { ResourceLimits, SandboxSpec } from "./types.ts";

/** The smallest sandbox in which init, agent and one command fit. */
const MIN_MEMORY_BYTES = 64 << 20;
const MIN_DISK_BYTES = 1 << 20;
const MIN_PROCESSES = 16;
/** What the agent needs. */
const MIN_OPEN_FILES = 1_024;
const MAX_LABEL_BYTES = 4_096;
const HOSTNAME = /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,62})$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const INIT_KEY = /^[\x21-\x7e]{16,512}$/;

/** Every check in order, each named after what must hold; these are for the limits alone. */
const RESOURCE_CHECKS: readonly (readonly [string, (resources: ResourceLimits) => boolean])[] = [
  ["cpuCount is at least 0.01", (r) => Number.isFinite(r.cpuCount) && r.cpuCount >= 0.01],
  ["memoryBytes is at least 64 MiB", (r) => Number.isSafeInteger(r.memoryBytes) && r.memoryBytes >= MIN_MEMORY_BYTES],
  ["diskBytes is at least 1 MiB", (r) => Number.isSafeInteger(r.diskBytes) && r.diskBytes >= MIN_DISK_BYTES],
  ["maxProcesses is at least 16", (r) => Number.isSafeInteger(r.maxProcesses) && r.maxProcesses >= MIN_PROCESSES],
];

const LABELS_FIT = "labels take at most 4 KiB";
const areLabelsShort = (labels: SandboxSpec["labels"]): boolean => Buffer.byteLength(JSON.stringify(labels)) <= MAX_LABEL_BYTES;

const CHECKS: readonly (readonly [string, (spec: SandboxSpec) => boolean])[] = [
  ["sandboxId is a sandbox id", (s) => isSandboxId(s.sandboxId)],
  ["incarnation is a positive integer", (s) => Number.isSafeInteger(s.incarnation) && s.incarnation > 0],
  ["hostname is one DNS label", (s) => HOSTNAME.test(s.hostname)],
  ["image has layers, each a digest", (s) => s.image.layers.length > 0 && s.image.layers.every((layer) => DIGEST.test(layer))],
  ...RESOURCE_CHECKS.map(([rule, holds]) => [rule, (s: SandboxSpec) => holds(s.resources)] as const),
  ["maxOpenFiles is at least 1,024", (s) => (s.restrictions?.maxOpenFiles ?? MIN_OPEN_FILES) >= MIN_OPEN_FILES],
  ["initKey is 16 to 512 printable characters", (s) => INIT_KEY.test(s.agent.initKey)],
  ["network lists can be enforced", (s) => isEnforceable(s.network)],
  [LABELS_FIT, (s) => areLabelsShort(s.labels)],
];

/**
 * Checks a spec, which the server has checked already. Throws `invalid_argument`, reason `invalid_spec`, with the rule that is broken in
 * `details.rule`; for volumes as `checkVolumeMounts`.
 */
export function checkSpec(spec: SandboxSpec): void {
  checkVolumeMounts(spec.volumes);
  for (const [rule, holds] of CHECKS) {
    if (!holds(spec)) throw brokenRule(rule);
  }
}

/** As `checkSpec`, for a change of the labels. */
export function checkLabels(labels: SandboxSpec["labels"]): void {
  if (!areLabelsShort(labels)) throw brokenRule(LABELS_FIT);
}

/** As `checkSpec`, for a change of the limits. */
export function checkResources(resources: ResourceLimits): void {
  for (const [rule, holds] of RESOURCE_CHECKS) if (!holds(resources)) throw brokenRule(rule);
}

const brokenRule = (rule: string) =>
  new AppError("invalid_argument", `Bad sandbox spec: ${rule} does not hold`, { reason: "invalid_spec", details: { rule } });

/** As `checkSpec`, for a change of the network policy. */
export function checkEgress(network: EgressPolicy): void {
  if (isEnforceable(network)) return;
  throw new AppError("invalid_argument", "Bad network: its lists can't be enforced", { reason: "invalid_spec" });
}
