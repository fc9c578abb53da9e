import type { AppError, SandboxId } from "@boxyard/core";
import type { ConnectInside } from "@boxyard/http1";

/** Where one incarnation of a sandbox is reached, and what hangs on it. */
export interface Route {
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  readonly host: string;
  readonly agentPort: number;
  /** Fits signed file URLs that name no sandbox. */
  readonly accessToken: string;
  /** Set when requests to the sandbox's own ports need this token. */
  readonly trafficToken?: string;
  /** Host header that the sandbox's own ports see; `${PORT}` stands for the port. */
  readonly maskHost?: string;
  /** Connects to what listens on a loopback address inside; undefined when nothing does. Absent where the driver has no way there. */
  readonly inside?: ConnectInside;
  /** What must be broken off when this incarnation ends. */
  readonly flights: Set<Flight>;
  /** How many answers of the agent have come through the proxy: a sign of life. */
  agentAnswers: number;
  /** True while its sandbox is being paused: requests in flight go on as long as they can, and no others begin. */
  isPausing: boolean;
}

/** What a request for a sandbox's own ports is held against. */
export type Guarded = Pick<Route, "sandboxId" | "trafficToken">;

/** A sandbox that is paused, or is being paused, and that a request resumes. */
export interface Sleeper extends Guarded, Pick<Route, "accessToken"> {
  /** Resolves when it runs, or when it cannot be resumed, with the refusal if the machine has no room for it; never rejects. */
  wake(): Promise<AppError | undefined>;
}

export interface Flight {
  /** The sandbox has ended. */
  cut(): void;
}

export type RouteFacts = Omit<Route, "flights" | "agentAnswers" | "isPausing">;

/** Every reachable sandbox, in memory only: fed by the lifecycle, read by the proxy, which never touches the store. */
export class RouteTable {
  private readonly routes = new Map<string, Route>();
  private readonly sleepers = new Map<string, Sleeper>();
  private readonly changing = new Map<string, Guarded>();
  private readonly onRemoved: (route: Route) => void;

  constructor(onRemoved: (route: Route) => void = () => {}) {
    this.onRemoved = onRemoved;
  }

  get size(): number {
    return this.routes.size;
  }

  add(facts: RouteFacts): void {
    this.remove(facts.sandboxId);
    this.sleepers.delete(facts.sandboxId);
    this.changing.delete(facts.sandboxId);
    this.routes.set(facts.sandboxId, { ...facts, flights: new Set(), agentAnswers: 0, isPausing: false });
  }

  find(sandboxId: string): Route | undefined {
    return this.routes.get(sandboxId);
  }

  /** A sandbox without a route has none to mark. */
  markPausing(sandboxId: string, isPausing: boolean): void {
    const route = this.routes.get(sandboxId);
    if (route) route.isPausing = isPausing;
  }

  /** From here on requests may wake it. */
  addSleeper(sleeper: Sleeper): void {
    this.sleepers.set(sleeper.sandboxId, sleeper);
  }

  findSleeper(sandboxId: string): Sleeper | undefined {
    return this.sleepers.get(sandboxId);
  }

  removeSleeper(sandboxId: string): void {
    this.sleepers.delete(sandboxId);
  }

  /** It is being resumed, and has no route yet; until it has one, or `removeChanging`. */
  addChanging(sandbox: Guarded): void {
    this.changing.set(sandbox.sandboxId, sandbox);
  }

  findChanging(sandboxId: string): Guarded | undefined {
    return this.changing.get(sandboxId);
  }

  removeChanging(sandboxId: string): void {
    this.changing.delete(sandboxId);
  }

  all(): IterableIterator<Route> {
    return this.routes.values();
  }

  /** From here on the sandbox is not found, and requests in flight to it are broken off. */
  remove(sandboxId: string): void {
    const route = this.routes.get(sandboxId);
    if (!route) return;
    this.routes.delete(sandboxId);
    for (const flight of [...route.flights]) flight.cut();
    this.onRemoved(route);
  }
}
