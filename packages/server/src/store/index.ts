export * from "./records.ts";
export * from "./sql-store.ts";
export * from "./store.ts";
export * from "./template-store.ts";
