export { CHECKOUT, readTestConfig, type TestConfig } from "./config.ts";
export * from "./eventually.ts";
export * from "./leaks/compare.ts";
export * from "./leaks/ours.ts";
export * from "./leaks/snapshot.ts";
export * from "./platform/api.ts";
export { type ProgramOptions, type ProgramResult, runProgram } from "./platform/child.ts";
export { bootPlatform, type Platform, type PlatformOptions } from "./platform/platform.ts";
export { type Capability, lacks } from "./requires.ts";
