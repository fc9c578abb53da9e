export * from "./agent.ts";
export * from "./fake-driver.ts";
export * from "./faults.ts";
export * from "./images.ts";
export * from "./make-tar.ts";
export * from "./snapshots.ts";
export * from "./world.ts";
