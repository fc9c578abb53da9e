export { ownCpuMs, pidsBelow, processCpuMs } from "./cpu.ts";
export * from "./errno.ts";
export * from "./logger.ts";
