export * from "./errno.ts";
export * from "./logger.ts";
