export { CHECKOUT, readTestConfig, type TestConfig } from "./config.ts";
export * from "./eventually.ts";
export { freePort } from "./free-port.ts";
export { isLinear } from "./growth.ts";
export * from "./leaks/compare.ts";
export * from "./leaks/ours.ts";
export * from "./leaks/snapshot.ts";
export { MEMORY, memoryDirectory, roomInMemory } from "./memory-directory.ts";
export * from "./platform/api.ts";
export {
  boxyardCommand,
  bundleOrSource,
  COMMAND_BUNDLE,
  COMMAND_PROGRAM,
  DRIVER_TEST_PROGRAMS,
  SERVER_PROGRAMS,
} from "./platform/bundles.ts";
export { endsWithin, type ProgramOptions, type ProgramResult, runProgram } from "./platform/child.ts";
export type { Fault, FaultPoint } from "./platform/faults.ts";
export { bootPlatform, type PlatformOptions } from "./platform/platform.ts";
export type { LogLine, Platform } from "./platform/running-platform.ts";
export { type ServerProcess, startServer } from "./platform/server-process.ts";
export { startPostgres, type TestPostgres } from "./postgres.ts";
export { type Capability, lacks } from "./requires.ts";
export { makeSmallDisk, type SmallDisk } from "./small-disk.ts";
export { spreadDirectories } from "./spread-directories.ts";
export { tryAll } from "./try-all.ts";
