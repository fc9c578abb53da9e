import { randomBytes } from "node:crypto";
import { AppError, newSandboxId, systemClock } from "@boxyard/core";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import type { ContractSubject } from "@boxyard/driver/contract-suite";
import { accessOfKubeconfig } from "../api/access.ts";
import { KubeApi } from "../api/client.ts";
import type { KubernetesDriverConfig } from "../config.ts";
import { openKubernetesDriver } from "../driver.ts";
import { labelsOf } from "../manifest.ts";
import { ANNOTATIONS, DRIVER, nameOf } from "../names.ts";
import { policyOf } from "../network-policy.ts";
import { policiesPath } from "../runtime.ts";
import { callAgent } from "./call-agent.ts";

/** A cluster of the tests' own (`tools/kubernetes/`). */
export interface TestCluster {
  readonly kubeconfig: string;
  /** The image of small sandboxes: a shell, and users. */
  readonly image: string;
  readonly guestImage: string;
}

export const SMALL = `sha256:${"5".repeat(64)}`;
const MIB = 2 ** 20;

/** The settings of a driver on the test cluster. Sandboxes of other instances are none of its business. */
function configOf({ kubeconfig, image, guestImage }: TestCluster, instance: string): KubernetesDriverConfig {
  return {
    access: accessOfKubeconfig(kubeconfig),
    namespace: "default",
    instance,
    imageOf: (digest) => (digest === SMALL ? image : undefined),
    guestImage,
    pullPolicy: "Never",
    logger: { warn: () => {} },
  };
}

export function specOf(): SandboxSpec {
  return {
    sandboxId: newSandboxId(),
    incarnation: 1,
    image: { digest: SMALL, layers: [SMALL] },
    hostname: "pod",
    resources: { cpuCount: 1, memoryBytes: 256 * MIB, diskBytes: 512 * MIB, maxProcesses: 64 },
    network: { internetAccess: true },
    agent: { initKey: randomBytes(16).toString("hex") },
    labels: {},
  };
}

/** The driver on a real cluster, for the contract suite. */
export async function makeSubject(cluster: TestCluster): Promise<ContractSubject> {
  const config = configOf(cluster, `t${randomBytes(4).toString("hex")}`);
  const api = new KubeApi(config.access, systemClock);
  const pods = `/api/v1/namespaces/${config.namespace}/pods`;
  const repairs: (() => Promise<unknown>)[] = [];
  let driver = await openKubernetesDriver(config);
  /** Changes an object until `mend`. An object that is gone by then needs no repair. */
  const change = async (path: string, patch: object, back: object) => {
    await api.patch(path, patch);
    repairs.push(() => api.patch(path, back).catch(() => {}));
  };
  const setNodes = async (unschedulable: boolean) => {
    const { items } = await api.get<{ items: { metadata: { name: string } }[] }>("/api/v1/nodes");
    for (const { metadata } of items) await api.patch(`/api/v1/nodes/${metadata.name}`, { spec: { unschedulable: unschedulable || null } });
  };
  const broken: Promise<unknown>[] = [];
  return {
    get driver() {
      return driver;
    },
    spec: specOf,
    reopen: async () => {
      await driver.close();
      driver = await openKubernetesDriver(config);
    },
    endAgent: async (handle) => {
      // The command ends with its agent, so its answer does not come.
      await callAgent(driver, handle, "kill -9 $(pidof agent)").catch(() => {});
    },
    leaveHalfMade: async () => {
      const spec = { ...specOf(), network: { internetAccess: true, denyOut: ["9.9.9.9"] } };
      await api.post(policiesPath(config.namespace), policyOf(spec, config.instance, labelsOf(config.instance, spec)));
      return { driver: DRIVER, sandboxId: spec.sandboxId, incarnation: 1 };
    },
    breakStarts: () => {
      broken.push(setNodes(true));
    },
    damage: async (what) => {
      if (!("sandbox" in what)) throw new AppError("unimplemented", "pods have nothing else");
      const path = `${pods}/${nameOf(what.sandbox.sandboxId)}`;
      const { metadata } = await api.get<{ metadata: { annotations: Record<string, string> } }>(path);
      const annotation = (value: string | undefined) => ({ metadata: { annotations: { [ANNOTATIONS.spec]: value } } });
      await change(path, annotation("{"), annotation(metadata.annotations[ANNOTATIONS.spec]));
    },
    mend: async () => {
      await Promise.all(broken.splice(0)).then((done) => (done.length > 0 ? setNodes(false) : undefined));
      for (const repair of repairs.splice(0)) await repair();
    },
    write: async (handle: SandboxHandle, path, text) => {
      await callAgent(driver, handle, `mkdir -p "$(dirname '${path}')" && printf %s '${text}' > '${path}'`);
    },
    read: (handle: SandboxHandle, path) => callAgent(driver, handle, `cat '${path}'`),
    dispose: async () => {
      await driver.release();
      await driver.close();
    },
  };
}
