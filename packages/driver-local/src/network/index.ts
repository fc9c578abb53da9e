export { type NetworkCheckConfig, networkChecks } from "./checks.ts";
export { chooseNetwork } from "./choose.ts";
export { claimRange, freeRange } from "./claims.ts";
export { edgeCertificate } from "./edge-authority/authority.ts";
export type { NetworksConfig } from "./networks-config.ts";
export { openNetwork } from "./open-network.ts";
export { releaseNetwork } from "./release.ts";
export { RUN_DIRECTORY } from "./run-directory.ts";
