export * from "./driver.ts";
export * from "./types.ts";
