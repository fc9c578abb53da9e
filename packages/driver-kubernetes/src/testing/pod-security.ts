/** The parts of a pod's spec that the Pod Security Standards look at. */
export interface SecuredPod {
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly securityContext?: SecurityContext;
  readonly initContainers?: readonly SecuredContainer[];
  readonly containers: readonly SecuredContainer[];
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
}

interface SecuredContainer {
  readonly name: string;
  readonly ports?: readonly { readonly hostPort?: number }[];
  readonly securityContext?: SecurityContext;
}

interface SecurityContext {
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly procMount?: string;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
}

const VOLUMES = ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"];
/** What the level `baseline` lets a container add. */
const BASELINE_CAPS = [
  ...["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP"],
  ...["SETUID", "SYS_CHROOT"],
];

/** In what a pod is not `restricted` (Kubernetes Pod Security Standards); `beyond baseline` marks what needs the level `privileged`. */
export function podSecurityExceptions(pod: SecuredPod): string[] {
  const host = (["hostNetwork", "hostPID", "hostIPC"] as const)
    .filter((name) => pod[name] === true)
    .map((name) => `${name}, beyond baseline`);
  const volumes = (pod.volumes ?? []).flatMap((volume) =>
    Object.keys(volume).flatMap((type) => {
      if (type === "name" || VOLUMES.includes(type)) return [];
      return [`volume of type ${type}${type === "hostPath" ? ", beyond baseline" : ""}`];
    }),
  );
  const containers = [...(pod.initContainers ?? []), ...pod.containers].flatMap((container) => containerExceptions(container, pod));
  return [...new Set([...host, ...volumes, ...containers])];
}

function containerExceptions({ ports = [], securityContext: own = {} }: SecuredContainer, pod: SecuredPod): string[] {
  const { seccompProfile, runAsNonRoot, runAsUser } = { ...pod.securityContext, ...own };
  const { add = [], drop = [] } = own.capabilities ?? {};
  const added = add.filter((name) => name !== "NET_BIND_SERVICE");
  const said: readonly (readonly [boolean, string])[] = [
    [own.privileged === true, "privileged, beyond baseline"],
    [ports.some(({ hostPort }) => hostPort !== undefined), "hostPort, beyond baseline"],
    [(own.procMount ?? "Default") !== "Default", "procMount, beyond baseline"],
    [own.allowPrivilegeEscalation !== false, "allowPrivilegeEscalation"],
    [runAsNonRoot !== true || runAsUser === 0, "runs as root"],
    [!drop.includes("ALL"), "capabilities are not dropped"],
    [!["RuntimeDefault", "Localhost"].includes(seccompProfile?.type ?? ""), "no seccomp profile"],
  ];
  const within = added.filter((name) => BASELINE_CAPS.includes(name));
  const beyond = added.filter((name) => !BASELINE_CAPS.includes(name));
  return [
    ...said.flatMap(([holds, text]) => (holds ? [text] : [])),
    ...(within.length > 0 ? [`capabilities ${within.join(", ")}`] : []),
    ...(beyond.length > 0 ? [`capabilities ${beyond.join(", ")}, beyond baseline`] : []),
  ];
}
