import { AGENT_ENVIRONMENT, AGENT_PATH, type KeptSpec, LINUX_CAPS, type ResourceLimits, type SandboxSpec } from "@boxyard/driver";
import { DEFAULTS, type KubernetesDriverConfig } from "./config.ts";
import { ANNOTATIONS, CONTAINER, LABELS, MANAGER, nameOf, START_GATE } from "./names.ts";
import { egressKind } from "./network-policy.ts";

/** Where the guest bundle is in every sandbox. */
const GUEST = "/.boxyard";
/** Seconds between the request to end and the end. The agent has nothing to save. */
const GRACE_SECONDS = 1;
/** The variable in which the agent finds its key; it removes the variable before its first child. */
export const INIT_KEY = "BOXYARD_INIT_KEY";

export type ManifestConfig = Pick<
  KubernetesDriverConfig,
  "instance" | "guestImage" | "pullPolicy" | "pullSecrets" | "runtimeClass" | "hostUsers" | "cpuRequest"
>;

/** Labels of all objects of a sandbox. */
export const labelsOf = (instance: string, { sandboxId, incarnation, network }: SandboxSpec): Record<string, string> => ({
  [LABELS.managedBy]: MANAGER,
  [LABELS.instance]: instance,
  [LABELS.sandbox]: sandboxId,
  [LABELS.incarnation]: String(incarnation),
  [LABELS.egress]: egressKind(network),
});

/** The spec that the driver keeps, without the secret. */
function keptOf({ agent: _, hostname: __, from: ___, ...kept }: SandboxSpec): Omit<KeptSpec, "initKey"> {
  return kept;
}

/** Bytes as the API takes them. */
const bytes = (count: number): string => String(Math.floor(count));
const cores = (count: number): string => `${Math.max(1, Math.round(count * 1000))}m`;

/** What a sandbox may take at most, and what its node sets aside for it. `maxProcesses` is the node's to limit (`podPidsLimit`). */
export function resourcesOf({ cpuCount, memoryBytes, diskBytes }: ResourceLimits, cpuRequest: number) {
  return {
    limits: { cpu: cores(cpuCount), memory: bytes(memoryBytes), "ephemeral-storage": bytes(diskBytes) },
    // No disk is set aside: sandboxes are given far more than they write.
    requests: { cpu: cores(cpuCount * cpuRequest), memory: bytes(memoryBytes), "ephemeral-storage": "0" },
  };
}

/** Everything that confines the processes of a sandbox. */
function securityContext({ restrictions = {} }: SandboxSpec) {
  const { noNewPrivileges = false, noPtrace = false } = restrictions;
  const add = LINUX_CAPS.filter((name) => !(noPtrace && name === "CAP_SYS_PTRACE")).map((name) => name.slice("CAP_".length));
  return {
    runAsUser: 0,
    runAsGroup: 0,
    privileged: false,
    allowPrivilegeEscalation: !noNewPrivileges,
    capabilities: { drop: ["ALL"], add },
    seccompProfile: { type: "RuntimeDefault" },
  };
}

/**
 * The pod of a sandbox: one container, in which the agent is started by `init` as on one machine. It waits at a gate of the scheduler, so nothing runs
 * before `start`. Nothing of the cluster is told to it: no account, no services.
 */
export function podOf(spec: SandboxSpec, image: string, config: ManifestConfig): object {
  const { instance, guestImage, pullPolicy = DEFAULTS.pullPolicy, pullSecrets = [], runtimeClass, hostUsers = false } = config;
  const { cpuRequest = DEFAULTS.cpuRequest } = config;
  const environment = { PATH: AGENT_PATH, ...AGENT_ENVIRONMENT, [INIT_KEY]: spec.agent.initKey };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: nameOf(spec.sandboxId),
      labels: labelsOf(instance, spec),
      annotations: {
        [ANNOTATIONS.spec]: JSON.stringify(keptOf(spec)),
        [ANNOTATIONS.limits]: JSON.stringify(spec.resources),
      },
    },
    spec: {
      schedulingGates: [{ name: START_GATE }],
      restartPolicy: "Never",
      terminationGracePeriodSeconds: GRACE_SECONDS,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      hostUsers,
      hostname: spec.hostname,
      dnsPolicy: "Default",
      ...(runtimeClass && { runtimeClassName: runtimeClass }),
      ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
      containers: [
        {
          name: CONTAINER,
          image,
          imagePullPolicy: pullPolicy,
          command: [`${GUEST}/init`, "--", `${GUEST}/agent`],
          workingDir: "/",
          env: Object.entries(environment).map(([name, value]) => ({ name, value })),
          resources: resourcesOf(spec.resources, cpuRequest),
          securityContext: securityContext(spec),
          volumeMounts: [
            { name: "guest", mountPath: GUEST, readOnly: true },
            { name: "facts", mountPath: `${GUEST}/host`, readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: "guest", image: { reference: guestImage, pullPolicy } },
        {
          name: "facts",
          downwardAPI: { items: [{ path: "limits.json", fieldRef: { fieldPath: `metadata.annotations['${ANNOTATIONS.limits}']` } }] },
        },
      ],
    },
  };
}
