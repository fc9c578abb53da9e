export type { AgentAccess } from "./access.ts";
export * from "./files.ts";
export * from "./init.ts";
export * from "./journal.ts";
export * from "./process.ts";
