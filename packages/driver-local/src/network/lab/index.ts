/** For benches: what the root tests of the network make namespaces of their own with. */
export { inNetworkNamespace } from "../../sys/libc.ts";
export { EdgeAuthority, edgeCertificate } from "../edge-authority/authority.ts";
export { openNetwork } from "../open-network.ts";
export { DEFAULT_SHARES } from "../shares.ts";
export { type Lab, openLab, PUBLIC } from "./lab.ts";
export { startNameServer } from "./name-server.ts";
export { type Plugged, plugIn } from "./plug-in.ts";
