export * from "./eventually.ts";
export * from "./leaks/compare.ts";
export * from "./leaks/snapshot.ts";
