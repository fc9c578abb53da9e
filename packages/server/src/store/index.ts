export * from "./event.ts";
export * from "./records.ts";
export * from "./sandbox-log-store.ts";
export * from "./sql-store.ts";
export * from "./store.ts";
export { isStoreFault, storeFault } from "./store-fault.ts";
export { openSealer } from "./store-key.ts";
export type { StoreLock } from "./store-lock.ts";
export * from "./template-store.ts";
