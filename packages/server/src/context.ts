import { hostname } from "node:os";
import { join } from "node:path";
import { AgentClient } from "@boxyard/agent-client";
import { AppError, type Clock, type StepObserver, systemClock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ResourceLimits, SandboxDriver } from "@boxyard/driver";
import type { ServerConfig } from "./config.ts";
import { Events } from "./events.ts";
import { type ApiServices, createApp } from "./http/app.ts";
import { logged } from "./http/log.ts";
import { McpFront } from "./http/mcp.ts";
import { DEFAULT_TEAM, ensureFirstKey, type FirstKey, Keys } from "./keys/keys.ts";
import { SandboxLogs } from "./logs/sandbox-logs.ts";
import { openStore } from "./open-store.ts";
import { Front } from "./proxy/front.ts";
import { RouteTable } from "./proxy/route-table.ts";
import { BuildSandboxes } from "./sandboxes/build-sandboxes.ts";
import { Admission } from "./sandboxes/create/admission.ts";
import { type Authorities, NO_AUTHORITIES } from "./sandboxes/create/authorities.ts";
import { CapacityGate } from "./sandboxes/create/capacity-gate.ts";
import { CreateGate } from "./sandboxes/create/create-gate.ts";
import { Idempotency } from "./sandboxes/create/idempotency.ts";
import { Engine } from "./sandboxes/engine/engine.ts";
import type { EngineParts } from "./sandboxes/engine/parts.ts";
import { Observations } from "./sandboxes/observations.ts";
import { SandboxService } from "./sandboxes/service.ts";
import { ForkService } from "./sandboxes/snapshots/fork-service.ts";
import { RollbackService } from "./sandboxes/snapshots/rollback-service.ts";
import { SnapshotService } from "./sandboxes/snapshots/snapshot-service.ts";
import { newSeed, Tokens } from "./sandboxes/tokens.ts";
import { Liveness, livenessSettings } from "./sandboxes/upkeep/liveness.ts";
import { Quarantine, type QuarantineParts } from "./sandboxes/upkeep/quarantine.ts";
import { type Adoption, adoptAll } from "./sandboxes/upkeep/restart.ts";
import { Sampler } from "./sandboxes/upkeep/sampler.ts";
import { SnapshotKeeper } from "./sandboxes/upkeep/snapshot-keeper.ts";
import { Sweep } from "./sandboxes/upkeep/sweep.ts";
import type { Store, StoreLock } from "./store/index.ts";
import { checkStoreIdentity, type OrphanPolicy } from "./store-identity.ts";
import { assembleTemplates, uploadTarget } from "./templates/assemble.ts";
import { type BuildSettings, noBuildSettings } from "./templates/builds/stage/build-settings.ts";
import { Templates } from "./templates/templates.ts";
import { Volumes } from "./volumes/volumes.ts";

const CREATE_WAIT_MS = 30_000;
const KEPT_STORE =
  "the store's file had been deleted and written anew by the server before; another file was in its place, so that one is kept here";

/** The services of a running server. */
export interface ServerContext extends ApiServices {
  readonly store: Store;
}

export interface ServerOptions {
  readonly config: ServerConfig;
  readonly driver: SandboxDriver;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** How long an agent may take for `/init`; 10 s by default. */
  readonly agentLimitMs?: number;
  /** Observes the steps of transitions; tests inject faults with it. */
  readonly observer?: StepObserver;
  /** What builds use of the machine's settings; nothing by default. */
  readonly buildSettings?: () => Promise<BuildSettings>;
  /** Certificate authorities of running sandboxes; none by default. */
  readonly authorities?: Authorities;
  /** What happens to sandboxes that the store does not know; `refuse` by default. */
  readonly orphans?: OrphanPolicy;
  /** Gives the path of the installable package of the TypeScript client. Without it requests for the package are refused. */
  readonly sdkPackage?: () => Promise<string>;
}

/** A running server. */
export interface RunningServer {
  readonly url: string;
  readonly context: ServerContext;
  readonly engine: Engine;
  readonly sampler: Sampler;
  readonly liveness: Liveness;
  readonly routes: RouteTable;
  readonly firstKey: FirstKey;
  readonly adoption: Adoption;
  readonly sweep: Sweep;
  /** Rejects when another server uses the store: then this one must end. */
  readonly lost: Promise<never>;
  /**
   * Waits up to `graceMs` for answers in progress, 5 s by default, and releases everything but the sandboxes, which go on, and the driver, which
   * belongs to the caller.
   */
  close(graceMs?: number): Promise<void>;
}

/** Opens and locks the store, and checks that it is the store of this directory's sandboxes. */
async function openLocked({ config, driver, orphans }: ServerOptions, clock: Clock): Promise<{ store: Store; lock: StoreLock }> {
  const store = await openStore(config, true, clock);
  let lock: StoreLock | undefined;
  try {
    lock = await store.lock(`${hostname()}, ${config.dataDir}, process ${process.pid}`, clock);
    await checkStoreIdentity(store, config.dataDir, driver, orphans);
    return { store, lock };
  } catch (error) {
    await store.close();
    await lock?.release();
    throw error;
  }
}

/**
 * Starts a server: makes its services, adopts the sandboxes of an earlier server, then listens. Throws `already_exists` or `failed_precondition` for
 * a store that another server uses, or that belongs to another data directory; `unavailable`, reason `listen`.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, driver, logger, clock = systemClock, agentLimitMs, observer } = options;
  const { buildSettings = noBuildSettings, authorities = NO_AUTHORITIES, sdkPackage = noSdkPackage } = options;
  const { store, lock } = await openLocked(options, clock);
  const firstKey = await ensureFirstKey(store, config.dataDir, clock.now());
  const tokens = new Tokens(await store.getOrCreateMeta("token-seed", newSeed));
  const templates = new Templates(store, clock);
  const teamId = await store.ensureTeam(DEFAULT_TEAM, "Default");
  await templates.seed(join(config.dataDir, "templates"), teamId, logger);

  let front: Front | undefined;
  const agent = new AgentClient(clock, agentLimitMs);
  const routes = new RouteTable((route) => front?.forget(route));
  const sandboxLogs = new SandboxLogs(store, clock, logger);
  const events = new Events(logger, sandboxLogs);
  const capacity = new CapacityGate({ driver, overcommit: config.overcommit, limits: () => limitsOf(engine), clock });
  const holdPlace: Admission["holdPlace"] = (sandbox, work) => admission.holdPlace(sandbox, work);
  const engineParts = { store, driver, clock, routes, agent, tokens, events, authorities, capacity, admission: { holdPlace } };
  const engine = engineOf(engineParts, observer);
  const admission = new Admission(engine, config.maxSandboxes);
  const making = { engine, admission, capacity, clock };
  const snapshotKeeper = new SnapshotKeeper({ driver, store, events, clock, keepMs: keepOrphansMs(config, options.orphans) });
  const buildSandboxes = new BuildSandboxes({ ...making, tokens });
  const building = { buildSandboxes, settings: buildSettings, ...(observer && { observer }) };
  const made = await assembleTemplates({ ...building, config, store, templates, driver, engine, snapshotKeeper, clock, logger });
  const liveness = new Liveness({ ...making, routes, agent, events }, livenessSettings(config, agentLimitMs));
  const sampler = new Sampler(engine.sandboxes, driver, clock, liveness);
  const volumes = new Volumes({ store, driver, clock, logger, defaultMB: config.volumeMB });
  const serving = { ...making, ...made, ...rulesOf(config, store, clock), snapshotKeeper, templates, store, driver, events, volumes };
  const context: ServerContext = {
    config,
    logger,
    keys: new Keys(store, clock),
    store,
    templates,
    ...made,
    sandboxes: new SandboxService(serving),
    observations: new Observations({ ...serving, sampler, liveness, logs: sandboxLogs }),
    snapshots: new SnapshotService(serving),
    forks: new ForkService(serving),
    rollbacks: new RollbackService(serving),
    tokens,
    ...{ volumes, volumeContent: driver.volumes.content },
    sdkPackage,
    mcp: new McpFront(() => urlOf(config.listen.hostname, (front as Front).port)),
  };

  watchStore(store, events, logger);
  const restart = { engine, store, driver, events, quarantine: quarantineOf(config, { driver, clock, events }) };
  sandboxLogs.start();
  const remaking = { agent, authorities, clock, driver, events, tokens, templates, teamId };
  const adoption = await adoptAll(restart, options.orphans ?? "refuse", remaking);
  await volumes.recover();
  engine.start();
  await made.builds.recover();
  const sweep = new Sweep({ ...restart, clock, snapshotKeeper }, logger);
  const app = createApp(context);
  const api = logged((request, call) => app.fetch(request, call), logger, clock);
  front = new Front({ ...frontSettings(config), routes, api, uploads: uploadTarget(made.uploads), clock, logger });
  for (const watch of [sampler, liveness, sweep]) watch.start();

  return {
    url: urlOf(config.listen.hostname, front.port),
    context,
    engine,
    sampler,
    liveness,
    routes,
    firstKey,
    adoption,
    sweep,
    lost: lock.lost,
    async close(graceMs = 5000) {
      await closeFronts(context.mcp, front, graceMs, clock);
      await made.builds.close();
      await Promise.all([sweep, sampler, liveness].map((watch) => watch.stop()).concat(engine.close()));
      await sandboxLogs.close();
      await store.close();
      await lock.release();
    },
  };
}

function watchStore({ health }: Store, events: Events, logger: Logger): void {
  if (health.keptAs !== undefined) logger.warn({ file: health.keptAs }, KEPT_STORE);
  health.onChange((trouble) => events.storeChanged(trouble));
}

/** Sessions of agents end their sandboxes through the front, so they end before it. */
async function closeFronts(mcp: McpFront, front: Front | undefined, graceMs: number, clock: Clock): Promise<void> {
  const waiting = new AbortController();
  await Promise.race([mcp.close(), clock.sleep(graceMs, waiting.signal).catch(() => {})]);
  waiting.abort();
  await front?.close(graceMs);
}

async function noSdkPackage(): Promise<never> {
  throw new AppError("unimplemented", "this server has no client package to serve", { reason: "no_sdk_package" });
}

const frontSettings = ({ listen, peerTimeoutSeconds }: ServerConfig) => ({ ...listen, peerLimitMs: peerTimeoutSeconds * 1000 });
const quarantineOf = ({ dataDir, orphanMinutes }: ServerConfig, parts: Pick<QuarantineParts, "driver" | "clock" | "events">) =>
  new Quarantine({ ...parts, dataDir, keepMs: orphanMinutes * 60_000 });
const keepOrphansMs = ({ orphanMinutes }: ServerConfig, policy?: OrphanPolicy) => (policy === "remove" ? 0 : orphanMinutes * 60_000);
const rulesOf = (config: ServerConfig, store: Store, clock: Clock) => ({
  gate: gateOf(config, clock),
  idempotency: new Idempotency(store, clock),
  maxTimeoutHours: config.maxTimeoutHours,
  startsFromMemory: config.startsFromMemory,
});
const gateOf = ({ maxCreates, maxQueuedCreates }: ServerConfig, clock: Clock) =>
  new CreateGate({ concurrent: maxCreates, queued: maxQueuedCreates, waitMs: CREATE_WAIT_MS }, clock);
const engineOf = (parts: EngineParts, observer?: StepObserver): Engine => new Engine({ ...parts, ...(observer && { observer }) });

function* limitsOf({ sandboxes }: Engine): Iterable<ResourceLimits> {
  for (const { record } of sandboxes.all()) yield record.facts.resources;
}

/** Where a client on this machine reaches the server. */
function urlOf(hostname: string, port: number): string {
  const reachable = hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
