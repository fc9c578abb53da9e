/**
 * Settings of the engine that the agent runs on (docs/performance.md has the figures):
 *
 * - `useWarmUpMarkedBlocks`: no thread that makes half a megabyte of heap resident in advance; most agents never need it.
 * - `thresholdForJITAfterWarmUp`: a function is compiled after six times as many calls as usual (500). Most functions of a start and of the first
 *   dozens of commands are called too seldom for their compilation to pay. Large listings and uploads take no longer.
 * - `useConcurrentJIT`, `useFTLJIT`, `numberOfGCMarkers`: no threads for compiling and for collecting garbage. They cost more than they save
 *   here. Such threads are started and ended all the time: when one cannot be started, because the sandbox is at its limit of processes, the
 *   agent would end, and the sandbox with it.
 * - `BUN_GC_TIMER_INTERVAL`: the runtime collects garbage every 10 s instead of every second, so that an idle sandbox is nearly idle. Memory of
 *   large requests is released within 20 s.
 */
export const ENGINE_SETTINGS: Readonly<Record<string, string>> = {
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  BUN_JSC_thresholdForJITAfterWarmUp: "3000",
  BUN_JSC_useConcurrentJIT: "0",
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_numberOfGCMarkers: "1",
  BUN_GC_TIMER_INTERVAL: "10000",
};

/** PATH of the agent. */
export const AGENT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The agent's environment besides PATH. Commands do not inherit it: the agent composes their environment anew. */
export const AGENT_ENVIRONMENT: Readonly<Record<string, string>> = {
  // Its own libraries, whatever the image has.
  LD_LIBRARY_PATH: "/.boxyard/lib",
  ...ENGINE_SETTINGS,
};
