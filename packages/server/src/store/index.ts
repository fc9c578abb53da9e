export * from "./records.ts";
export * from "./sandbox-log-store.ts";
export * from "./sql-store.ts";
export * from "./store.ts";
export * from "./template-store.ts";
