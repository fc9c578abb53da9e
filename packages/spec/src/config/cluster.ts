import type { Setting } from "./setting.ts";

/** Sandboxes as pods of a cluster (docs/kubernetes.md). */
export const CLUSTER_SETTINGS = [
  {
    name: "BOXYARD_DRIVER",
    form: "local or kubernetes",
    usedBy: "server",
    default: "local",
    meaning: "Where sandboxes are: on this machine, or pods of a Kubernetes cluster.",
  },
  {
    name: "BOXYARD_KUBECONFIG",
    form: "path",
    usedBy: "server",
    default: "the account of the server's own pod",
    meaning: "Kubeconfig whose current context is the cluster of the sandboxes; its user has a certificate or a token.",
  },
  {
    name: "BOXYARD_KUBERNETES_NAMESPACE",
    form: "name",
    usedBy: "server",
    default: "boxyard",
    meaning: "Namespace in which the sandboxes are made. It must exist.",
  },
  {
    name: "BOXYARD_KUBERNETES_INSTANCE",
    form: "name",
    usedBy: "server",
    default: "boxyard",
    meaning: "Label of everything that this server makes in the cluster, so that several servers can share a namespace.",
  },
  {
    name: "BOXYARD_KUBERNETES_IMAGE",
    form: "reference with {digest} or {hex}",
    usedBy: "server",
    default: "none; required with BOXYARD_DRIVER=kubernetes",
    meaning:
      "Images of templates, for example `registry.example/boxyard@{digest}`. {digest} stands for the digest of the template's image, {hex} for its hexadecimal digits.",
  },
  {
    name: "BOXYARD_KUBERNETES_GUEST_IMAGE",
    form: "reference",
    usedBy: "server",
    default: "none; required with BOXYARD_DRIVER=kubernetes",
    meaning: "Image with the guest bundle: the agent and what starts it.",
  },
  {
    name: "BOXYARD_KUBERNETES_PULL_POLICY",
    form: "Always, IfNotPresent or Never",
    usedBy: "server",
    default: "IfNotPresent",
    meaning: "When nodes pull these images.",
  },
  {
    name: "BOXYARD_KUBERNETES_PULL_SECRETS",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning: "Names of the secrets with which nodes pull images, comma-separated.",
  },
  {
    name: "BOXYARD_KUBERNETES_RUNTIME_CLASS",
    form: "name",
    usedBy: "server",
    default: "the cluster's",
    meaning: "RuntimeClass of the pods, for example gvisor or kata.",
  },
  {
    name: "BOXYARD_KUBERNETES_HOST_USERS",
    form: "on or off",
    usedBy: "server",
    default: "off",
    meaning:
      "on: pods have no user namespace, for nodes that have none; root of a sandbox is root of its node then, confined by capabilities and seccomp only.",
  },
  {
    name: "BOXYARD_KUBERNETES_CPU_REQUEST",
    form: "number",
    usedBy: "server",
    default: "0.1",
    meaning:
      "The part of a sandbox's CPU that its node sets aside, above 0 and at most 1: with 0.1, a node of 16 cores takes 80 sandboxes of 2 cores at most. Memory is set aside whole.",
  },
] as const satisfies readonly Setting[];
