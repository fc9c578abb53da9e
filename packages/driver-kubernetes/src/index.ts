export { type ApiAccess, accessInCluster, accessOfKubeconfig } from "./api/access.ts";
export type { DriverLogger, KubernetesDriverConfig, NetworkPeer } from "./config.ts";
export { KubernetesDriver, openKubernetesDriver } from "./driver.ts";
export { readClusterConfig } from "./environment/config.ts";
