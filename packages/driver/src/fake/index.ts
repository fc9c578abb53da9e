export * from "./agent.ts";
export * from "./fake-driver.ts";
export * from "./faults.ts";
export * from "./world.ts";
