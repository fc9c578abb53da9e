export * from "./collect.ts";
export * from "./pins.ts";
