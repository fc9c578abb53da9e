export * from "./cleanup.ts";
export * from "./clock.ts";
export * from "./errors.ts";
export * from "./exit-codes.ts";
export * from "./ids.ts";
export * from "./sandbox-state.ts";
export * from "./serial-queue.ts";
export * from "./steps.ts";
