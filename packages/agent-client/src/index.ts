export * from "./init.ts";
export * from "./process.ts";
