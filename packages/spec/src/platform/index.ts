export * from "./common.ts";
export * from "./document.ts";
export * from "./image-transfer.ts";
export * from "./key.ts";
export * from "./routes.ts";
export * from "./sandbox.ts";
export * from "./sandbox-log.ts";
export * from "./template.ts";
