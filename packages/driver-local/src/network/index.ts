export { type NetworkCheckConfig, networkChecks } from "./checks.ts";
export { chooseNetwork } from "./choose.ts";
export { type NetworksConfig, openNetwork } from "./networks.ts";
export { releaseNetwork } from "./release.ts";
export { RUN_DIRECTORY } from "./run-directory.ts";
