export type { LocalDriverConfig } from "./config.ts";
export { fingerprint } from "./doctor/fingerprint.ts";
export { LocalDriver } from "./driver.ts";
export { openLocalDriver } from "./open.ts";
export { DRIVER_NAME } from "./sandbox/sandboxes.ts";
