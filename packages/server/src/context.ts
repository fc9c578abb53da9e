import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Clock, StepObserver, TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Fingerprint, SandboxDriver } from "@boxyard/driver";
import { assembleNetwork } from "./assemble-network.ts";
import { assembleRouting } from "./assemble-routing.ts";
import { assembleTemplates } from "./assemble-templates.ts";
import type { ServerConfig } from "./config.ts";
import { DashboardSessions } from "./dashboard/sessions.ts";
import { EventLog } from "./event-log.ts";
import { EventFeed } from "./feed/event-feed.ts";
import { AccessLog } from "./http/access-log.ts";
import type { ApiServices } from "./http/app.ts";
import { McpFront } from "./http/mcp.ts";
import { Idempotency } from "./idempotency.ts";
import { Credentials } from "./keys/credentials.ts";
import { ensureAdminToken, ensureFirstKey, type FirstKey } from "./keys/first-key.ts";
import { Keys } from "./keys/keys.ts";
import { logsOf } from "./logs/assemble.ts";
import { assembleMetrics } from "./metrics/assemble.ts";
import { NetworkLog } from "./network-log/network-log.ts";
import { noDashboard, noSdkPackage } from "./no-files.ts";
import { overviewOf } from "./overview/assemble.ts";
import type { Owned } from "./owned.ts";
import { observe } from "./prometheus/collect.ts";
import { type Front, NO_COUNTS } from "./proxy/front.ts";
import { Retention } from "./retention/retention.ts";
import { type Authorities, NO_AUTHORITIES } from "./sandboxes/authorities.ts";
import { BuildSandboxes } from "./sandboxes/build-sandboxes.ts";
import { Admission } from "./sandboxes/create/admission.ts";
import { CapacityGate } from "./sandboxes/create/capacity-gate.ts";
import { CreateGate } from "./sandboxes/create/create-gate.ts";
import { type CreateOnceInput, createOnce } from "./sandboxes/create/create-once.ts";
import { Places } from "./sandboxes/create/places.ts";
import { TeamQuota } from "./sandboxes/create/team-quota.ts";
import { Engine } from "./sandboxes/engine/engine.ts";
import { LivingSandboxes } from "./sandboxes/engine/living.ts";
import { MOST_FORMER } from "./sandboxes/engine/names.ts";
import { Operations } from "./sandboxes/engine/operations.ts";
import type { EngineNeeds } from "./sandboxes/engine/parts.ts";
import { NamedSandboxes } from "./sandboxes/names/named-sandboxes.ts";
import { Nodes } from "./sandboxes/nodes.ts";
import { Observations } from "./sandboxes/observations.ts";
import type { Choose, Node, Placement } from "./sandboxes/placement.ts";
import { PortLinks } from "./sandboxes/port-links.ts";
import { PortUrls } from "./sandboxes/port-urls.ts";
import { Resizing } from "./sandboxes/resources/resizing.ts";
import { SandboxService } from "./sandboxes/service.ts";
import { type ForkInput, fork } from "./sandboxes/snapshots/fork.ts";
import { ForkService } from "./sandboxes/snapshots/fork-service.ts";
import { RollbackService } from "./sandboxes/snapshots/rollback-service.ts";
import { SnapshotService } from "./sandboxes/snapshots/snapshot-service.ts";
import { newSeed, Tokens } from "./sandboxes/tokens.ts";
import { TRANSITIONS } from "./sandboxes/transitions/index.ts";
import { answerFor } from "./sandboxes/upkeep/adopt.ts";
import { Liveness, livenessSettings } from "./sandboxes/upkeep/liveness.ts";
import { Quarantine, type QuarantineParts } from "./sandboxes/upkeep/quarantine.ts";
import { adoptAll } from "./sandboxes/upkeep/restart.ts";
import { Sampler } from "./sandboxes/upkeep/sampler.ts";
import { SecretRefresh } from "./sandboxes/upkeep/secret-refresh.ts";
import { SnapshotKeeper } from "./sandboxes/upkeep/snapshot-keeper.ts";
import { Sweep } from "./sandboxes/upkeep/sweep.ts";
import { WarmPool } from "./sandboxes/warm/warm-pool.ts";
import type { Store } from "./store/index.ts";
import type { OrphanPolicy } from "./store-identity.ts";
import { TeamLimits } from "./teams/limits.ts";
import { Teams } from "./teams/teams.ts";
import { type BuildSettings, noBuildSettings } from "./templates/builds/stage/build-settings.ts";
import { Templates } from "./templates/templates.ts";
import { timingsOf } from "./tracing/timings-of.ts";
import type { Tracer } from "./tracing/tracer.ts";
import { Volumes } from "./volumes/volumes.ts";
import { assembleWebhooks } from "./webhooks/assemble.ts";
import type { WebhookSender } from "./webhooks/sender.ts";

const CREATE_WAIT_MS = 30_000;
const KEPT_STORE =
  "the store's file had been deleted and written anew by the server before; another file was in its place, so that one is kept here";

/** The services of a running server. */
export interface ServerContext extends ApiServices {
  readonly accessLog: AccessLog | undefined;
  readonly tracer: Tracer | undefined;
  readonly store: Store;
  readonly webhookSender: WebhookSender;
}

export interface ServerOptions {
  readonly config: ServerConfig;
  readonly driver: SandboxDriver;
  /** Where sandboxes are besides this machine, and who chooses; nowhere by default. */
  readonly elsewhere?: { readonly nodes: readonly Node[]; readonly choose: Choose };
  readonly logger: Logger;
  readonly clock?: Clock;
  /** How long an agent may take for `/init`; 10 s by default. */
  readonly agentLimitMs?: number;
  /** How long a step may go on after the abort of its transition; a minute by default. */
  readonly stepGraceMs?: number;
  /** Observes the steps of transitions; tests inject faults with it. */
  readonly observer?: StepObserver;
  /** Observes the start of the server's modules, by name; tests inject faults with it. */
  readonly startObserver?: StepObserver;
  /** What builds use of the machine's settings; nothing by default. */
  readonly buildSettings?: () => Promise<BuildSettings>;
  /** Certificate authorities of running sandboxes; none by default. */
  readonly authorities?: Authorities;
  /** What happens to sandboxes that the store does not know; `refuse` by default. */
  readonly orphans?: OrphanPolicy;
  /** Waits between the attempts of a webhook's delivery, in milliseconds; hours in all by default. */
  readonly webhookBackoffMs?: readonly number[];
  /** Set for the owner among several servers on one database, which `replicas/` starts. */
  readonly owned?: Owned;
  /** Gives the hosts of the package registries that the machine is set to use; none by default. */
  readonly packageHosts?: () => readonly string[];
  /** What the machine can do, for the operator; nothing by default. */
  readonly fingerprint?: () => Promise<Fingerprint>;
  /** Gives the path of the installable package of the TypeScript client. Without it requests for the package are refused. */
  readonly sdkPackage?: () => Promise<string>;
  /** Gives the directory of the dashboard's files. Without it the dashboard says that the server has none. */
  readonly dashboardFiles?: () => Promise<string>;
}

/** What services need of the server's port, which is opened last. */
interface Own {
  front?: Front;
  /** Where a client on this machine reaches the server. */
  url?: string;
}

interface AdmissionNeeds extends Pick<ServerOptions, "config"> {
  readonly placement: Placement;
  readonly idempotency: Idempotency;
  readonly clock: Clock;
  readonly sandboxes: LivingSandboxes;
  readonly limits: TeamLimits;
  readonly giveWay: () => Promise<boolean>;
}

export type Services = Awaited<ReturnType<typeof makeServices>>;

/**
 * Makes all services, by hand and in order: one line for each. None has begun anything when this returns: what must be started or stopped is a module
 * in `start-server.ts`.
 */
export async function makeServices(options: ServerOptions, store: Store, placement: Placement, clock: Clock) {
  const { config, driver, logger, agentLimitMs, observer, orphans = "refuse" } = options;
  const { buildSettings = noBuildSettings, authorities = NO_AUTHORITIES } = options;
  const { sdkPackage = noSdkPackage, dashboardFiles = noDashboard } = options;
  const firstKey = await ensureFirstKey(store, config.dataDir, clock.now());
  const { tokens, portLinks } = tokensOf(await store.getOrCreateMeta("token-seed", newSeed), clock);
  const templates = new Templates(store, clock);
  const sandboxes = new LivingSandboxes();
  const { secrets, recorded, policies, presets } = assembleNetwork({ store, clock, sandboxes }, options);
  await templates.seed(join(config.dataDir, "templates"), firstKey.teamId, logger);

  const access = await accessOf({ store, clock, config, firstKey });
  const { limits } = access;
  const own: Own = {};
  const { routes, agent, upstreams, use } = assembleRouting({ config, clock, tokens, agentLimitMs }, (route) => own.front?.forget(route));
  const { sandboxLogs, guests } = logsOf({ store, clock, logger, sandboxes, routes, tokens });
  const events = new EventLog(logger, sandboxLogs);
  const idempotency = new Idempotency(store, clock);
  const admission = admissionOf({ config, idempotency, placement, clock, sandboxes, limits, giveWay: async () => warm.giveWay() });
  const { metering, history, ...metrics } = await assembleMetrics({ store, clock });
  const { instruments, tracer, recent, timings } = timingsOf(config, clock, logger);
  const records = { store, placement, clock, sandboxes, admission, metering, timings, use };
  const engine = engineOf({ ...records, routes, agent, tokens, portLinks, events, authorities, policies }, options);
  const making = { engine, admission, clock };
  const keepMs = keepOrphansMs(config, options.orphans);
  const snapshotKeeper = new SnapshotKeeper({ snapshots: placement.snapshots, store, events, clock, keepMs });
  const buildSandboxes = new BuildSandboxes({ ...making, tokens });
  const building = { buildSandboxes, secrets, settings: buildSettings, ...(observer && { observer }) };
  const made = await assembleTemplates({ ...building, config, store, templates, driver, engine, snapshotKeeper, limits, clock, logger });
  const liveness = new Liveness({ ...making, routes, agent, events }, livenessSettings(config, agentLimitMs));
  const sampler = new Sampler({ sandboxes, clock, liveness, use, logger, ...metrics });
  const warm: WarmPool = new WarmPool({ ...making, templates, driver, liveness, store }, config.warm);
  const operations = new Operations(
    { store, events, clock, ...(observer && { observer }) },
    {
      fork: (input: ForkInput) => fork.undoLeft({ engine }, input),
      createOnce: (input: CreateOnceInput) => createOnce.undoLeft({ engine }, input),
    },
    [made.builds],
  );
  const volumes = new Volumes({ store, driver, clock, logger, defaultMB: config.volumeMB, ...(observer && { observer }) });
  const kept = { snapshotKeeper, templates, store, driver, events, volumes, operations, warm };
  const serving = { ...making, ...made, ...rulesOf(config, limits), ...kept, secrets, policies, presets, guests };
  const retention = new Retention({ engine, templates, snapshotCatalog: made.snapshotCatalog, store, history, ...recorded, clock, logger });
  const service = new SandboxService({ ...serving, routes });
  const context: ServerContext = {
    config,
    logger,
    ...access,
    sessions: new DashboardSessions({ ...access, clock, secret: () => randomBytes(32).toString("base64url") }),
    store,
    templates,
    ...made,
    ...{ run: crypto.randomUUID(), accessLog: accessLogOf(config, clock), tracer },
    sandboxes: service,
    ...overviewOf({ ...making, ...made, ...kept, ...metrics, config, placement, sandboxes, recent, firstKey }, options.fingerprint),
    nodes: new Nodes({ placement, sandboxes, service, store }),
    ...{ resizing: new Resizing({ engine, admission, templates }), portUrls: new PortUrls({ engine, routes, portLinks, clock }) },
    named: new NamedSandboxes({ engine, sandboxes: service, clock }),
    observations: new Observations({ ...serving, routes, retention, history, liveness, logs: sandboxLogs }),
    snapshots: new SnapshotService(serving),
    forks: new ForkService(serving),
    rollbacks: new RollbackService(serving),
    ...{ tokens, networkLog: new NetworkLog({ driver, sandboxes, store, clock, logger, instruments, ...recorded }) },
    ...{ history, clock, instruments, feed: new EventFeed({ events: store.events, clock }) },
    ...assembleWebhooks({ ...options, store, clock }),
    ...{ secrets, ...recorded, volumes, idempotency, volumeContent: driver.volumes.content, sdkPackage, dashboardFiles },
    mcp: new McpFront(() => own.url ?? ""),
  };
  access.credentials.onRevoked((keyId) => {
    context.mcp.endOf(keyId).catch((error: unknown) => logger.warn({ err: error }, "a session of a revoked key did not end"));
  });
  watchStore(store, events, logger);
  const counts = { front: () => own.front?.counts ?? NO_COUNTS, builds: () => made.builds.counts };
  observe(instruments, { sandboxes, driver, store, clock, warm, owned: options.owned, ...counts });
  const restart = { engine, store, placement, events, quarantine: quarantineOf(config, { placement, clock, events }) };
  const remaking = { agent, authorities, clock, placement, events, tokens, templates, teamId: firstKey.teamId };
  const adopt = async () => {
    engine.sandboxes.names.remember((await store.listFormerNames(MOST_FORMER)).reverse());
    return adoptAll(restart, orphans, remaking);
  };
  const sweep = new Sweep({ ...restart, clock, snapshotKeeper, operations }, logger);
  const watches = [sampler, liveness, sweep, guests, retention, new SecretRefresh({ engine, events: store.events, logger })];
  const lasting = { context, engine, routes, upstreams, own, firstKey, sandboxLogs, volumes, operations };
  return { ...lasting, warm, adopt, sampler, metrics, liveness, sweep, guests, retention, watches };
}

const tokensOf = (seed: string, clock: Clock) => ({ tokens: new Tokens(seed), portLinks: new PortLinks(seed, clock) });

function watchStore({ health }: Store, events: EventLog, logger: Logger): void {
  if (health.keptAs !== undefined) logger.warn({ file: health.keptAs }, KEPT_STORE);
  health.onChange((trouble) => events.storeChanged(trouble));
}

/** Who may do what: keys, tokens and teams. */
async function accessOf({
  store,
  clock,
  config,
  firstKey,
}: Pick<ServerOptions, "config"> & { store: Store; clock: Clock; firstKey: FirstKey }) {
  const adminToken = await ensureAdminToken(config.dataDir);
  const credentials = new Credentials({ store, clock, operatorTeam: firstKey.teamId, adminToken });
  const seed = await store.getOrCreateMeta("key-seed", newSeed);
  const limits = new TeamLimits(config.teamLimits);
  limits.take(await store.teams.list());
  return { credentials, keys: new Keys({ store, clock, credentials, seed }), limits, teams: new Teams({ store, credentials, limits }) };
}

function accessLogOf({ accessLog: file, logMaxMib, logFiles }: ServerConfig, clock: Clock): AccessLog | undefined {
  return file === undefined ? undefined : new AccessLog({ file, maxBytes: logMaxMib * 2 ** 20, keep: logFiles - 1 }, clock);
}

const quarantineOf = ({ dataDir, orphanMinutes }: ServerConfig, parts: Pick<QuarantineParts, "placement" | "clock" | "events">) =>
  new Quarantine({ ...parts, dataDir, keepMs: orphanMinutes * 60_000 });
const keepOrphansMs = ({ orphanMinutes }: ServerConfig, policy?: OrphanPolicy) => (policy === "remove" ? 0 : orphanMinutes * 60_000);
const rulesOf = ({ startsFromMemory }: ServerConfig, limits: TeamLimits) => ({
  startsFromMemory,
  maxHoursOf: (teamId: TeamId) => limits.of(teamId, "timeoutHours"),
});
const engineOf = (parts: EngineNeeds, { observer, stepGraceMs, owned }: ServerOptions): Engine =>
  new Engine(
    { ...parts, ...(observer && { observer }), ...(stepGraceMs && { stepGraceMs }), ...(owned && { permit: owned.permit }) },
    { ...TRANSITIONS, answerFor },
  );

/** Everything that limits how many sandboxes there are, and how many are made at once. */
function admissionOf({ config, idempotency, placement, clock, sandboxes, limits, giveWay }: AdmissionNeeds): Admission {
  const quota = new TeamQuota({ limits, clock });
  const { maxCreates: concurrent, maxQueuedCreates: queued, overcommit, maxSandboxes } = config;
  const waiting = { waitMs: config.roomWaitSeconds * 1000, giveWay };
  const roomOf = (node: Node) =>
    new CapacityGate({ driver: node.driver, overcommit, promised: () => sandboxes.counts.onNode(node.id), clock, ...waiting });
  const rooms = new Map(placement.nodes.map((node) => [node, roomOf(node)]));
  return new Admission({
    idempotency,
    turns: new CreateGate({ concurrent, queued, waitMs: CREATE_WAIT_MS }, clock),
    placement,
    capacityOf: (record) => rooms.get(placement.nodeOf(record)) as CapacityGate,
    places: new Places(sandboxes.counts, maxSandboxes, quota),
    quota,
    clock,
  });
}
