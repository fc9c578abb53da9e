export * from "./checkpoint.ts";
export * from "./driver.ts";
export * from "./images.ts";
export * from "./snapshots.ts";
export * from "./types.ts";
