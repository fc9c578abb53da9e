import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Clock, systemClock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import type { UpstreamTls } from "@boxyard/http1";
import type { ServerConfig } from "../config.ts";
import { prepareSharedStore } from "../open-store.ts";
import { SharedPorts } from "../proxy/ports.ts";
import { type RunningServer, type ServerOptions, startServer } from "../start-server.ts";
import { LeaseRows } from "../store/index.ts";
import { fencedDriver } from "./fenced-driver.ts";
import { OwnerPlaceView } from "./owner-place.ts";
import { ReplicaSeal } from "./replica-seal.ts";
import { isForRole, type Role, StandbyFront } from "./standby-front.ts";
import { LEASE_MS, momentOf, Term } from "./term.ts";

const LOOK_MS = 500;
/** Longer than an owner takes to try again. */
const RESTRAINT_MS = 4000;
/** A replica that could not start its work as the owner lets the others try first. */
const AFTER_FAILURE_MS = 5000;

export interface ReplicaOptions extends Omit<ServerOptions, "driver" | "owned" | "elsewhere"> {
  /** Opens a driver for one term. */
  readonly openDriver: () => Promise<SandboxDriver>;
  /** Called whenever this replica begins to own the sandboxes, and serves. */
  readonly onOwner?: (server: RunningServer) => void;
}

/** The settings that replicas need. */
type ReplicaConfig = ServerConfig & { readonly databaseUrl: string; readonly replicaAddress: string };

/**
 * One of several servers on one database. One of them, the owner, does all the work on sandboxes, for a term; the others pass requests on to it. When the
 * owner is lost, another one takes over as a restarted server does: it adopts the sandboxes.
 */
export class Replica {
  readonly id = randomUUID();
  private readonly options: ReplicaOptions & { readonly config: ReplicaConfig };
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly lease: LeaseRows;
  private readonly view: OwnerPlaceView;
  private readonly stopping = new AbortController();
  private readonly ports: SharedPorts;
  private readonly standby: StandbyFront;
  private readonly seal: ReplicaSeal;
  private readonly tls: UpstreamTls | undefined;
  private term: Term | undefined;
  private isServing = false;
  private restrainedUntil = 0;
  private watching: Promise<void> = Promise.resolve();

  private constructor(options: ReplicaOptions & { readonly config: ReplicaConfig }, key: Uint8Array) {
    const { config, logger, clock = systemClock } = options;
    this.options = options;
    this.clock = clock;
    this.logger = logger;
    this.lease = new LeaseRows({ url: config.databaseUrl, holder: this.id, leaseMs: LEASE_MS, clock });
    this.view = new OwnerPlaceView(clock);
    const listening = { ...config.listen, tls: config.tls && { ...config.tls }, logger };
    this.ports = new SharedPorts(listening);
    const peerLimitMs = config.peerTimeoutSeconds * 1000;
    const role = () => this.role;
    this.seal = new ReplicaSeal(key);
    const { replicaTls } = config;
    this.tls = replicaTls && { serverName: replicaTls.serverName, ...(replicaTls.ca && { ca: readFileSync(replicaTls.ca, "utf8") }) };
    this.standby = new StandbyFront({ ...listening, peerLimitMs, clock, ports: this.ports.lend, view: this.view, role, seal: this.seal });
  }

  /** Brings the database up to date, then serves. Throws as `startServer`. */
  static async start(options: ReplicaOptions & { readonly config: ReplicaConfig }): Promise<Replica> {
    const replica = new Replica(options, await prepareSharedStore(options.config, options.clock));
    replica.watching = replica.watch();
    return replica;
  }

  get port(): number {
    return this.standby.port;
  }

  /** Undefined while it starts to own the sandboxes. */
  get role(): Role | undefined {
    if (this.term === undefined) return "standby";
    if (!this.isServing) return undefined;
    return this.term.isValid ? "owner" : "lapsed";
  }

  /** Ends the work, and hands the sandboxes over at once. */
  async close(): Promise<void> {
    this.stopping.abort();
    await this.watching;
    this.view.close();
    await this.standby.close(1000);
    this.ports.stop(true);
    await this.lease.close();
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const term = await this.look().catch((err: unknown) => this.missed(err));
      if (term && !(await this.own(term))) await this.pause(AFTER_FAILURE_MS);
      await this.pause(LOOK_MS);
    }
  }

  /** When the database was away for everybody, the owner has the first turn to renew its lease. */
  private missed(err: unknown): undefined {
    this.restrainedUntil = this.clock.monotonic() + RESTRAINT_MS;
    this.logger.warn({ err }, "the database does not say who owns the sandboxes");
  }

  private pause(ms: number): Promise<void> {
    return this.clock.sleep(ms, this.stopping.signal).catch(() => {});
  }

  /** Notes where the owner is; a term when there is none, and this replica has become it. */
  private async look(): Promise<Term | undefined> {
    const { replicaAddress } = this.options.config;
    const { epoch, address, isLive } = await this.lease.look(replicaAddress);
    const { hostname, port } = new URL(`http://${address || "none"}`);
    // Its own address is that of its former process, whose lease has not ended yet.
    const isServed = address !== "" && address !== replicaAddress;
    this.view.set(!isServed ? undefined : { epoch, host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80), tls: this.tls });
    const askedAt = momentOf(this.clock);
    if (isLive || askedAt.monotonic < this.restrainedUntil) return undefined;
    const taken = await this.lease.take();
    return taken === undefined ? undefined : new Term(this.lease, taken, askedAt, { clock: this.clock, logger: this.logger });
  }

  /** Does the work of the owner until the term ends. False if it could not be begun. */
  private async own(term: Term): Promise<boolean> {
    this.term = term;
    this.view.set(undefined);
    this.logger.info({ epoch: term.epoch }, "this replica takes over the sandboxes");
    try {
      await this.serve(term);
      return true;
    } catch (err) {
      this.logger.error({ err }, "this replica could not take over");
      return false;
    } finally {
      this.isServing = false;
      await term.end();
      this.term = undefined;
    }
  }

  private async serve(term: Term): Promise<void> {
    const { openDriver, onOwner, ...options } = this.options;
    const driver = await openDriver();
    try {
      const { epoch, lost } = term;
      const own = { is: isForRole, answer: () => ({ role: this.role ?? "standby", epoch }) };
      const front = { ports: this.ports.lend, own, passedOn: this.seal };
      const owned = { epoch, permit: term, lost, front, countReplicas: () => this.lease.countReplicas() };
      const server = await startServer({ ...options, driver: fencedDriver(driver, term), owned });
      this.isServing = true;
      onOwner?.(server);
      this.view.set({ epoch, ...this.placeOfItself() });
      await term.tell(this.options.config.replicaAddress);
      const why = await Promise.race([lost, aborted(this.stopping.signal)]).catch((error: unknown) => error);
      this.logger.info({ epoch, ...(why instanceof Error && { err: why }) }, "this replica hands the sandboxes over");
      this.view.set(undefined);
      await term.tell("");
      await server.close(why instanceof Error ? 0 : undefined);
    } finally {
      await driver.close();
    }
  }

  /** Connections that began before this replica was the owner end at its own port. */
  private placeOfItself(): { host: string; port: number } {
    const { hostname } = this.options.config.listen;
    return { host: hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname, port: this.port };
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })));
