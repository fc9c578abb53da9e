import { AppError, isAppError, Semaphore, type TeamId } from "@boxyard/core";
import type { TriggersOf } from "@boxyard/spec/platform";
import type { ImageSource } from "../builds/base/image-source.ts";
import { templateOfImage } from "../builds/order/read-order.ts";
import type { Templates } from "../templates.ts";

/** A registry that does not answer is the build's to report, which asks it for the image itself. */
const ASK_LIMIT_MS = 30_000;
/** Registries that are asked at once. Further requests wait for their turn. */
const MAX_ASKED_AT_ONCE = 16;
/** Requests of one team that are asked or wait. One more is refused. */
const MAX_PER_TEAM = 32;

export interface TriggersDeps {
  readonly templates: Templates;
  readonly images: Pick<ImageSource, "triggers">;
}

/** What Dockerfiles that begin with an image or a template do first. */
export class Triggers {
  private readonly deps: TriggersDeps;
  private readonly places = new Semaphore(MAX_ASKED_AT_ONCE);
  private readonly asking = new Map<TeamId, number>();

  constructor(deps: TriggersDeps) {
    this.deps = deps;
  }

  /**
   * Instructions as their texts; none where they can't be read, since the build then says why. Throws `resource_exhausted`, reason
   * `too_many_triggers`, when 32 requests of the team ask registries already or wait to do so.
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
    const asking = this.asking.get(teamId) ?? 0;
    if (asking >= MAX_PER_TEAM) {
      throw new AppError("resource_exhausted", `${MAX_PER_TEAM} images are looked at already; try again in a moment`, {
        reason: "too_many_triggers",
        details: { retryAfter: 1 },
      });
    }
    this.asking.set(teamId, asking + 1);
    try {
      return await this.places.run(signal, () => this.ask(fromImage, request, signal));
    } finally {
      const left = (this.asking.get(teamId) ?? 1) - 1;
      if (left > 0) this.asking.set(teamId, left);
      else this.asking.delete(teamId);
    }
  }

  private async ask(image: string, { fromImageRegistry: access }: TriggersOf, signal: AbortSignal): Promise<string[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
    try {
      return [...(await this.deps.images.triggers(image, { signal: limit, ...(access ? { access } : {}) }))];
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error) || limit.aborted) return [];
      throw error;
    }
  }
}
