import { readdirSync } from "node:fs";
import { type Clock, type SandboxState, VERSION } from "@boxyard/core";
import type { Capacity, SandboxDriver } from "@boxyard/driver";
import type { Store } from "../store/index.ts";
import type { Instruments } from "./instruments.ts";

/** Every sandbox that is not dead, and those of users. */
interface Sandboxes {
  all(): readonly { readonly record: { readonly owner: { readonly kind: string } } }[];
  ofUsers(): readonly { readonly state: SandboxState }[];
}

export interface CollectParts {
  readonly sandboxes: Sandboxes;
  readonly driver: Pick<SandboxDriver, "capacity">;
  readonly store: Pick<Store, "health" | "events">;
  readonly clock: Clock;
  /** The sandboxes that wait, and those that were handed out. */
  readonly warm: { readonly size: number; readonly claims: number };
  /** What the front has counted. */
  readonly front: () => { readonly clients: number; readonly proxied: number; readonly api: number; readonly refused: number };
  /** Set for the owner among several servers on one database. */
  readonly owned: { readonly epoch: number; readonly countReplicas: () => Promise<number> } | undefined;
  readonly builds: () => { readonly running: number; readonly queued: number };
}

/** Capacities that are younger are not read again: several gauges of one scrape share one. */
const CAPACITY_MS = 1000;

/** Counts what the store takes, and adds what is only read when it is scraped, so that it costs nothing otherwise. */
export function observe(instruments: Instruments, parts: CollectParts): void {
  const { sandboxes, store, front, builds, clock, warm } = parts;
  store.events.subscribe((actions) => instruments.changed(actions));
  store.health.onAnswer = (ms) => instruments.statement(ms);
  instruments.addGauge("boxyard_info", "1, with the version of the server", () => ({ [VERSION]: 1 }), "version");
  instruments.addGauge("boxyard_sandboxes", "Sandboxes of users, by state", () => byState(sandboxes), "state");
  instruments.addGauge("boxyard_build_sandboxes", "Sandboxes that builds use", () => countOf(sandboxes, "build"));
  instruments.addGauge("boxyard_warm_sandboxes", "Sandboxes that wait for a create", () => warm.size);
  instruments.addCounter("boxyard_warm_claims_total", "Creates that got a sandbox that waited", () => warm.claims);
  instruments.addGauge("boxyard_builds", "Builds that run or wait", () => ({ ...builds() }), "state");
  instruments.addGauge("boxyard_clients", "Open connections of clients", () => front().clients);
  instruments.addCounter("boxyard_proxy_requests_total", "Requests to sandboxes", () => front().proxied);
  instruments.addCounter("boxyard_api_requests_total", "Requests to the platform API", () => front().api);
  instruments.addCounter("boxyard_proxy_refusals_total", "Requests that the front has answered itself", () => front().refused);
  instruments.addGauge("boxyard_store_degraded", "1 while the store takes no changes", () => (store.health.trouble ? 1 : 0));
  addReplicas(instruments, parts);
  addCapacity(instruments, parts);
  addProcess(instruments, clock);
}

const countOf = (sandboxes: Sandboxes, owner: string): number => sandboxes.all().filter(({ record }) => record.owner.kind === owner).length;

function byState(sandboxes: Sandboxes): Record<string, number> {
  const counts: Record<string, number> = { running: 0, paused: 0 };
  for (const { state } of sandboxes.ofUsers()) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

/** Only the owner answers, so the numbers are the same whichever replica is asked. */
function addReplicas(instruments: Instruments, { owned }: CollectParts): void {
  if (!owned) return;
  instruments.addGauge("boxyard_replicas", "Servers on the database", () => owned.countReplicas());
  instruments.addGauge("boxyard_owner_epoch", "How often the owner of the sandboxes has changed", () => owned.epoch);
}

function addCapacity(instruments: Instruments, { driver, clock }: CollectParts): void {
  let read: { readonly at: number; readonly capacity: Promise<Capacity> } | undefined;
  const capacity = () => {
    if (!read || clock.monotonic() - read.at > CAPACITY_MS) read = { at: clock.monotonic(), capacity: driver.capacity() };
    return read.capacity;
  };
  const GAUGES = [
    ["memory_limit_bytes", "Memory that all sandboxes together may take", "memoryLimitBytes"],
    ["memory_free_bytes", "Memory that sandboxes can still take", "memoryFreeBytes"],
    ["disk_limit_bytes", "Disk that all sandboxes together may take", "diskLimitBytes"],
    ["disk_free_bytes", "Disk that is free", "diskFreeBytes"],
    ["process_limit", "Processes and threads that all sandboxes together may have", "processLimit"],
    ["processes_free", "Processes and threads that are free", "processesFree"],
  ] as const;
  for (const [name, help, member] of GAUGES) instruments.addGauge(`boxyard_${name}`, help, async () => (await capacity())[member]);
}

/** The server's own process, under the names that dashboards know. */
function addProcess(instruments: Instruments, clock: Clock): void {
  const startedAt = clock.now() / 1000 - process.uptime();
  instruments.addCounter(
    "process_cpu_seconds_total",
    "CPU time of the server",
    () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
  );
  instruments.addGauge("process_resident_memory_bytes", "Memory of the server", () => process.memoryUsage.rss());
  instruments.addGauge("process_start_time_seconds", "When the server was started, in Unix seconds", () => startedAt);
  instruments.addGauge("process_open_fds", "Open descriptors of the server", () => readdirSync("/proc/self/fd").length);
}
