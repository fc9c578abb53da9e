export { assembleDriver } from "./assemble.ts";
export type { LocalDriverConfig } from "./config.ts";
export { DRIVER_NAME, LocalDriver } from "./driver.ts";
