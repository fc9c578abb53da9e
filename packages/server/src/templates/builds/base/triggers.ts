import { type Clock, isAppError, Semaphore, type TeamId, TimeLimit } from "@boxyard/core";
import type { TriggersOf } from "@boxyard/spec/platform";
import { limitMet } from "../../../limit-met.ts";
import type { Templates } from "../../templates.ts";
import { templateOfImage } from "../order/read-order.ts";
import type { ImageSource } from "./image-source.ts";

/** Limit of a request to a registry. The build reports a registry that does not answer, because it asks for the image too. */
const ASK_LIMIT_MS = 30_000;
/** Requests to registries at once. Further ones wait for their turn. */
const MAX_ASKED_AT_ONCE = 16;
/** Requests of one team at once: its requests to a registry that hangs leave places for other teams. */
const MAX_ASKED_PER_TEAM = 4;
/** Requests of one team that run or wait. One more is refused. */
const MAX_PER_TEAM = 32;

export interface TriggersDeps {
  readonly templates: Templates;
  readonly images: Pick<ImageSource, "triggers">;
  readonly clock?: Clock;
  /** How long a request may take, its wait for a place included; 30 s by default. */
  readonly limitMs?: number;
}

/** The requests of one team. */
interface Asking {
  requests: number;
  readonly places: Semaphore;
}

/** Finds triggers (ONBUILD): the instructions that a Dockerfile on an image or a template runs first. */
export class Triggers {
  private readonly deps: TriggersDeps;
  private readonly places = new Semaphore(MAX_ASKED_AT_ONCE);
  private readonly asking = new Map<TeamId, Asking>();

  constructor(deps: TriggersDeps) {
    this.deps = deps;
  }

  /**
   * The texts of the instructions; none if they cannot be read in 30 s, because the build reports that. Throws `resource_exhausted`, reason
   * `too_many_triggers`, when 32 requests of the team run or wait already.
   */
  async of(teamId: TeamId, request: TriggersOf, signal: AbortSignal): Promise<string[]> {
    const { fromImage, fromTemplate } = request;
    try {
      const own = fromTemplate === undefined ? templateOfImage(fromImage ?? "") : { name: fromTemplate, inherits: true };
      if (own) return own.inherits ? [...(this.deps.templates.resolve(teamId, own.name).spec.onBuild ?? [])] : [];
    } catch (error) {
      if (isAppError(error)) return [];
      throw error;
    }
    if (fromImage === undefined || fromImage === "scratch") return [];
    const team = this.asking.get(teamId) ?? { requests: 0, places: new Semaphore(MAX_ASKED_PER_TEAM) };
    if (team.requests >= MAX_PER_TEAM) {
      const advice = "so many images are looked at already; try again in a moment";
      throw limitMet({ limit: "triggers", value: MAX_PER_TEAM, reason: "too_many_triggers", advice });
    }
    this.asking.set(teamId, team);
    team.requests += 1;
    try {
      return await this.ask(fromImage, request, team.places, signal);
    } finally {
      team.requests -= 1;
      if (team.requests === 0) this.asking.delete(teamId);
    }
  }

  private async ask(image: string, { fromImageRegistry: access }: TriggersOf, ofTeam: Semaphore, signal: AbortSignal): Promise<string[]> {
    using time = new TimeLimit(this.deps.limitMs ?? ASK_LIMIT_MS, this.deps.clock);
    const limit = AbortSignal.any([signal, time.signal]);
    try {
      // The team's place first: a request that waits for that must not hold a place of all teams.
      using _ofTeam = await ofTeam.enter(limit);
      using _ofAll = await this.places.enter(limit);
      return [...(await this.deps.images.triggers(image, { signal: limit, ...(access ? { access } : {}) }))];
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error) || limit.aborted) return [];
      throw error;
    }
  }
}
