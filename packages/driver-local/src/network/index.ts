export { type NetworkCheckConfig, networkChecks } from "./checks.ts";
export { chooseNetwork } from "./choose.ts";
export { type NetworksConfig, openNetwork, RUN_FOLDER } from "./networks.ts";
export { releaseNetwork } from "./release.ts";
