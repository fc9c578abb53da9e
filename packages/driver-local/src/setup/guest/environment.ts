/**
 * Settings of the engine that the agent runs on (docs/performance.md has the figures):
 *
 * - `useWarmUpMarkedBlocks`: no thread that makes half a megabyte of heap resident ahead of need; most agents never need it.
 * - `thresholdForJITAfterWarmUp`: a function is compiled after six times as many calls as usual (500). Most of what a start and the first
 *   dozens of commands run is run too seldom to earn its compilation back. Large listings and uploads take no longer.
 * - `useConcurrentJIT`, `useFTLJIT`, `numberOfGCMarkers`: no threads for compiling and for collecting garbage. They cost more than they save
 *   here, and come and go: one that can't be made, where a sandbox has no process left, would end the agent, and the sandbox with it.
 * - `BUN_GC_TIMER_INTERVAL`: the runtime looks for garbage every 10 s instead of every second, so that an idle sandbox is nearly idle. Memory
 *   of large requests is given back within 20 s.
 */
export const ENGINE_SETTINGS: Readonly<Record<string, string>> = {
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "3000",
  BUN_JSC_useConcurrentJIT: "0",
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_numberOfGCMarkers: "1",
  BUN_GC_TIMER_INTERVAL: "10000",
};

/** What the agent finds in its environment beside PATH. Commands never see it: the agent composes their environment from nothing. */
export const AGENT_ENVIRONMENT: Readonly<Record<string, string>> = {
  // Its own libraries, whatever the image has.
  LD_LIBRARY_PATH: "/.boxyard/lib",
  ...ENGINE_SETTINGS,
};
