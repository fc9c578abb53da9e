import type { AppError, SandboxId } from "@boxyard/core";
import type { ConnectInside, UpstreamTls } from "@boxyard/http1";

/** Where one incarnation of a sandbox is reached, with the requests in flight to it. */
export interface Route {
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  readonly host: string;
  readonly agentPort: number;
  /** The sandbox's access token; signatures of file URLs are made with it. */
  readonly accessToken: string;
  /** Set when requests to the sandbox's own ports need this token. */
  readonly trafficToken?: string;
  /** Whose sandbox it is: connections of raw TCP are bounded for all sandboxes of one owner. Undefined: not bounded so. */
  readonly owner?: string;
  /** Seconds for which the token of a link is good for a port; undefined: it is not. */
  readonly linkSeconds?: (port: number, token: string) => number | undefined;
  /** Host header that the sandbox's own ports see; `${PORT}` stands for the port. */
  readonly maskHost?: string;
  /** The route is to another server, which speaks TLS: how that begins. */
  readonly tls?: UpstreamTls | undefined;
  /** The sandbox's own ports that speak TLS. */
  readonly httpsPorts?: readonly number[];
  /** Connects to a port on a loopback address inside; resolves with undefined when nothing listens there. Absent where the driver cannot do it. */
  readonly inside?: ConnectInside;
  /** Requests in flight, which end with this incarnation. */
  readonly flights: Flights;
  /** How many answers of the agent have come through the proxy: a sign of life. */
  agentAnswers: number;
  /**
   * Set while its sandbox is being paused (`pausing`) or its processes are being replaced (`replacing`): requests in flight go on as long as
   * they can, and no others begin.
   */
  ending: RouteEnding | undefined;
}

export type RouteEnding = "pausing" | "replacing";

/** What a request for a sandbox's own ports is checked against. */
export type Guarded = Pick<Route, "sandboxId" | "trafficToken" | "linkSeconds">;

/** A sandbox that is paused, or being paused, and that a request may resume. */
export interface Sleeper extends Guarded, Pick<Route, "accessToken"> {
  /** Resumes the sandbox. Resolves when it runs or could not be resumed; with the refusal if there is no room or no place for it. Never rejects. */
  wake(): Promise<AppError | undefined>;
}

export interface Flight {
  /** The port, if a link of it has let the request in. */
  readonly linkedPort?: number | undefined;
  /** The sandbox has ended. */
  cut(): void;
}

/** The requests in flight to one incarnation, and when it was used last. */
export class Flights extends Set<Flight> {
  private readonly now: () => number;
  private usedAt: number;

  /** `now`: wall time in milliseconds. */
  constructor(now: () => number) {
    super();
    this.now = now;
    this.usedAt = now();
  }

  /** Wall time of the last use: now, while a request is in flight. */
  get lastUse(): number {
    return this.size > 0 ? this.now() : this.usedAt;
  }

  /** Something that is no request uses the sandbox now. */
  touch(): void {
    this.usedAt = this.now();
  }

  /** The end of a request is the one thing that is noted of it: while it is in flight, the sandbox is in use. */
  override delete(flight: Flight): boolean {
    this.usedAt = this.now();
    return super.delete(flight);
  }
}

export type RouteFacts = Omit<Route, "flights" | "agentAnswers" | "ending">;

/** Every sandbox that requests can reach or wake, in memory only. The engine writes the table; the proxy reads it, and never asks the store. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();
  private readonly sleepers = new Map<string, Sleeper>();
  private readonly changing = new Map<string, Guarded>();
  /** Whether a sandbox has ended, and another has its name now. */
  isReplaced: (sandboxId: string) => boolean = () => false;
  private readonly onRemoved: (route: Route) => void;
  private readonly now: () => number;

  /** `now`: wall time in milliseconds. */
  constructor(onRemoved: (route: Route) => void = () => {}, now: () => number = Date.now) {
    this.onRemoved = onRemoved;
    this.now = now;
  }

  get size(): number {
    return this.routes.size;
  }

  add(facts: RouteFacts): void {
    this.remove(facts.sandboxId);
    this.sleepers.delete(facts.sandboxId);
    this.changing.delete(facts.sandboxId);
    this.routes.set(facts.sandboxId, { ...facts, flights: new Flights(this.now), agentAnswers: 0, ending: undefined });
  }

  find(sandboxId: string): Route | undefined {
    return this.routes.get(sandboxId);
  }

  /** Says why a route is about to end; undefined if it is not. Does nothing for a sandbox without a route. */
  markEnding(sandboxId: string, ending: RouteEnding | undefined): void {
    const route = this.routes.get(sandboxId);
    if (route) route.ending = ending;
  }

  /** From now on requests may wake the sandbox. */
  addSleeper(sleeper: Sleeper): void {
    this.sleepers.set(sleeper.sandboxId, sleeper);
  }

  findSleeper(sandboxId: string): Sleeper | undefined {
    return this.sleepers.get(sandboxId);
  }

  removeSleeper(sandboxId: string): void {
    this.sleepers.delete(sandboxId);
  }

  /** Notes a sandbox that is being resumed and has no route yet. Ends with `add` or `removeChanging`. */
  addChanging(sandbox: Guarded): void {
    this.changing.set(sandbox.sandboxId, sandbox);
  }

  findChanging(sandboxId: string): Guarded | undefined {
    return this.changing.get(sandboxId);
  }

  removeChanging(sandboxId: string): void {
    this.changing.delete(sandboxId);
  }

  /** Cuts the requests that links of this port have let in. */
  cutLinked(sandboxId: string, port: number): void {
    for (const flight of [...(this.routes.get(sandboxId)?.flights ?? [])]) if (flight.linkedPort === port) flight.cut();
  }

  all(): IterableIterator<Route> {
    return this.routes.values();
  }

  /** From now on the sandbox is not found; requests in flight to it are cut. */
  remove(sandboxId: string): void {
    const route = this.routes.get(sandboxId);
    if (!route) return;
    this.routes.delete(sandboxId);
    for (const flight of [...route.flights]) flight.cut();
    this.onRemoved(route);
  }
}
