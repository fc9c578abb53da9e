import { hostname } from "node:os";
import { type Clock, systemClock } from "@boxyard/core";
import { uploadTarget } from "./assemble-templates.ts";
import type { ServerConfig } from "./config.ts";
import { makeServices, type ServerContext, type ServerOptions, type Services } from "./context.ts";
import { createApp } from "./http/app.ts";
import { logged } from "./http/log.ts";
import type { FirstKey } from "./keys/first-key.ts";
import type { GuestLog } from "./logs/guest-log.ts";
import type { Meters } from "./metrics/meters.ts";
import type { MetricWriter } from "./metrics/metric-writer.ts";
import { type Module, Modules } from "./modules.ts";
import { openSharedStore, openStore } from "./open-store.ts";
import { clientAddressOf } from "./proxy/client-address.ts";
import { Front, type FrontOptions } from "./proxy/front.ts";
import type { RouteTable } from "./proxy/route-table.ts";
import type { Retention } from "./retention/retention.ts";
import type { Engine } from "./sandboxes/engine/engine.ts";
import { HOME, Placement } from "./sandboxes/placement.ts";
import type { Liveness } from "./sandboxes/upkeep/liveness.ts";
import type { Adoption } from "./sandboxes/upkeep/restart.ts";
import type { Sampler } from "./sandboxes/upkeep/sampler.ts";
import type { Sweep } from "./sandboxes/upkeep/sweep.ts";
import type { WarmPool } from "./sandboxes/warm/warm-pool.ts";
import type { Store, StoreLock } from "./store/index.ts";
import { checkStoreIdentity } from "./store-identity.ts";

export type { ServerOptions };

/** A running server. */
export interface RunningServer {
  readonly url: string;
  readonly context: ServerContext;
  readonly engine: Engine;
  readonly sampler: Sampler;
  readonly meters: Meters;
  readonly metricWriter: MetricWriter;
  readonly liveness: Liveness;
  readonly guests: GuestLog;
  readonly routes: RouteTable;
  readonly firstKey: FirstKey;
  readonly adoption: Adoption;
  readonly sweep: Sweep;
  readonly retention: Retention;
  readonly warm: WarmPool;
  /** Rejects when another server uses the store: then this one must end. */
  readonly lost: Promise<never>;
  /**
   * Waits up to `graceMs` for answers in progress, 5 s by default, and releases everything but the sandboxes, which go on, and the driver, which
   * belongs to the caller.
   */
  close(graceMs?: number): Promise<void>;
}

/**
 * Starts a server: makes its services, adopts the sandboxes of an earlier server, then listens. When this throws, all that it has opened is closed.
 * Throws `already_exists` or `failed_precondition` for a store that another server uses, or that belongs to another data directory; `unavailable`,
 * reason `listen`.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const modules = new Modules(options.logger, options.startObserver);
  try {
    return await startModules(options, modules);
  } catch (error) {
    await modules.stop(0);
    throw error;
  }
}

/** The modules in the order of their start; `close` stops them in reverse. One line for each: another module has its place by what it needs. */
async function startModules(options: ServerOptions, modules: Modules): Promise<RunningServer> {
  const { config, logger, clock = systemClock } = options;
  const { nodes = [], choose } = options.elsewhere ?? {};
  const placement = new Placement([{ id: HOME, driver: options.driver }, ...nodes], choose);
  const { store, lock } = await modules.start("store", storeModule(options, placement, clock));
  const made = await makeServices(options, store, placement, clock);
  const { context, engine, routes, adopt, sampler, liveness, sweep } = made;
  await modules.start("logs", { start: () => made.sandboxLogs.start(), stop: () => made.sandboxLogs.close() });
  const { webhookSender } = context;
  await modules.start("webhooks", { start: () => webhookSender.start(), stop: () => webhookSender.stop() });
  const adoption = await modules.start("adoption", { start: adopt, stop: () => engine.close() });
  await modules.start("volumes", { start: () => made.volumes.recover() });
  await modules.start("recordings", { start: () => made.context.recordings.recover() });
  await modules.start("operations", { start: () => made.operations.recover() });
  await modules.start("engine", { start: () => engine.start() });
  await modules.start("builds", { start: () => context.builds.beginTidying(), stop: () => context.builds.close() });
  await modules.start("traces", { start: () => undefined, stop: () => context.tracer?.close() });
  await modules.start("warm pool", { start: () => made.warm.start(), stop: (graceMs) => made.warm.stop(graceMs) });
  const app = createApp(context);
  const api = logged((request, call) => app.fetch(request, call), { ...context, clock });
  const listening = {
    ...frontSettings(config),
    routes,
    upstreams: made.upstreams,
    api,
    uploads: uploadTarget(context.uploads),
    clock,
    logger,
    ...options.owned?.front,
  };
  const watches = [...made.watches, context.networkLog];
  await modules.start("watches", {
    start: () => watches.map((watch) => watch.start()),
    stop: () => Promise.all(watches.map((watch) => watch.stop())),
  });
  const url = await modules.start("front", frontModule(made, listening));
  return {
    ...{ url, context, engine, sampler, liveness, routes, adoption, sweep, retention: made.retention, warm: made.warm },
    ...{ meters: made.metrics.meters, metricWriter: made.metrics.writer },
    guests: made.guests,
    firstKey: made.firstKey,
    lost: lock.lost,
    close: (graceMs = 5000) => modules.stop(graceMs),
  };
}

/** Opens and locks the store, and checks that it is the store of this directory's sandboxes. */
type Opened = { store: Store; lock: StoreLock };

/** Names this server in the error of another one that wants the store. */
const nameOf = ({ dataDir }: ServerConfig) => `${hostname()}, ${dataDir}, process ${process.pid}`;

function storeModule({ config, orphans, owned }: ServerOptions, placement: Placement, clock: Clock): Module<Opened> {
  let store: Store | undefined;
  let lock: StoreLock | undefined;
  return {
    start: async () => {
      store = owned ? await openSharedStore(config, owned.epoch, clock) : await openStore(config, true, clock);
      lock = owned ? { lost: owned.lost, release: async () => {} } : await store.lock(nameOf(config), clock);
      await checkStoreIdentity(store, config.dataDir, placement, orphans);
      return { store, lock };
    },
    stop: async () => {
      await store?.close();
      await lock?.release();
    },
  };
}

/** Opens the one port, and returns the address of the server. Sessions of agents end their sandboxes through it, so they end before it. */
function frontModule({ own, context }: Services, listening: FrontOptions): Module<string> {
  const { clock } = listening;
  return {
    start: () => {
      own.front = new Front(listening);
      own.url = urlOf(listening.hostname, own.front.port);
      return own.url;
    },
    stop: async (graceMs) => {
      const waiting = new AbortController();
      await Promise.race([context.mcp.close(), clock.sleep(graceMs, waiting.signal).catch(() => {})]);
      waiting.abort();
      await own.front?.close(graceMs);
    },
  };
}

const frontSettings = ({ listen, tls, peerTimeoutSeconds, trustedProxies }: ServerConfig) => ({
  ...{ ...listen, tls, peerLimitMs: peerTimeoutSeconds * 1000 },
  clientAddress: clientAddressOf(trustedProxies),
});

/** Where a client on this machine reaches the server. */
export function urlOf(hostname: string, port: number): string {
  const reachable = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
