import type { Clock } from "@boxyard/core";
import type { ApiAccess } from "./api/access.ts";

/** The part of a logger that the driver uses. */
export interface DriverLogger {
  warn(facts: object, message: string): void;
}

/** A peer of a NetworkPolicy, in the API's own form. */
export type NetworkPeer = Readonly<Record<string, unknown>>;

export interface KubernetesDriverConfig {
  readonly access: ApiAccess;
  /** The namespace of the sandboxes. It exists, and holds nothing else that the server may not remove. */
  readonly namespace: string;
  /** A DNS label that all objects of this server carry, so that several servers can share a namespace. */
  readonly instance: string;
  /** The image of a template, by its digest; undefined for one that the registry does not have. */
  readonly imageOf: (digest: string) => string | undefined;
  /** The image with the guest bundle (agent, init, launch), which each pod has at `/.boxyard`. */
  readonly guestImage: string;
  /** `IfNotPresent` by default. */
  readonly pullPolicy?: "Always" | "IfNotPresent" | "Never";
  /** Names of the secrets with which nodes pull images. */
  readonly pullSecrets?: readonly string[];
  /** `runc`, `gvisor`, `kata`, …: a RuntimeClass of the cluster; absent: the cluster's default. */
  readonly runtimeClass?: string;
  /** False by default: root of a sandbox is no user of the node. True for nodes whose kernel or runtime has no user namespaces. */
  readonly hostUsers?: boolean;
  /** The part of a sandbox's CPU that its node sets aside, from 0 to 1. 0.1 by default; memory is set aside whole. */
  readonly cpuRequest?: number;
  /** Who may connect to sandboxes: the server. Pods of the namespace with the label `app.kubernetes.io/name: boxyard` by default. */
  readonly serverPeers?: readonly NetworkPeer[];
  readonly logger: DriverLogger;
  readonly clock?: Clock;
  /** Milliseconds from a start to the agent's answer, in which the node may have to pull the image. Two minutes by default. */
  readonly startLimitMs?: number;
}

export const DEFAULTS = { pullPolicy: "IfNotPresent", cpuRequest: 0.1, startLimitMs: 120_000 } as const;
