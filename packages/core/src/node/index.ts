export { ownCpuMs, pidsBelow, processCpuMs } from "./cpu.ts";
export * from "./errno.ts";
export { LogDestination } from "./log-destination.ts";
export { logLineAsText } from "./log-text.ts";
export * from "./logger.ts";
export { makePrivateDirectory, PRIVATE_UMASK } from "./private-directory.ts";
export { processStat } from "./process-stat.ts";
