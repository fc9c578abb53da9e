export * from "../generated/agent/filesystem.ts";
export * from "../generated/agent/process.ts";
export * from "./init.ts";
export * from "./table.ts";
