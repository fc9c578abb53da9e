import { AppError } from "@boxyard/core";
import { openKubernetesDriver, readClusterConfig } from "@boxyard/driver-kubernetes";
import type { Machine } from "./machine.ts";
import { NO_AUTHORITIES } from "./sandboxes/authorities.ts";

/**
 * A cluster as the place of the sandboxes (`BOXYARD_DRIVER=kubernetes`). The machine of the server needs no set-up, and holds nothing of the sandboxes: what
 * set-up makes elsewhere is in the cluster's images (docs/kubernetes.md).
 */
export function clusterMachine(): Machine {
  return {
    isShared: true,
    isSetUp: async () => true,
    setUp: async () => void readClusterConfig(),
    rebuildBase: () => elsewhere("The base template is built"),
    openDriver: (logger) => openKubernetesDriver({ ...readClusterConfig(), logger }),
    buildSettings: () => elsewhere("Templates are built"),
    authorities: () => NO_AUTHORITIES,
    packageHosts: () => [],
    sdkPackage: () => elsewhere("The client's package is made"),
    dashboardFiles: () => elsewhere("The dashboard's files are made"),
    fingerprint: async () => {
      const driver = await openKubernetesDriver({ ...readClusterConfig(), logger: { warn: () => {} } });
      return driver.fingerprint().finally(() => driver.close());
    },
    isInstalled: () => true,
    uninstall: async () => [],
  };
}

async function elsewhere(what: string): Promise<never> {
  const message = `${what} on a machine with BOXYARD_DRIVER=local; then push it (docs/kubernetes.md)`;
  throw new AppError("unimplemented", message, { reason: "not_on_a_cluster" });
}
