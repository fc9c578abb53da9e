import { isAppError, type TeamId } from "@boxyard/core";
import type { TriggersOf } from "@boxyard/spec/platform";
import type { ImageSource } from "../builds/base/image-source.ts";
import { templateOfImage } from "../builds/order/read-order.ts";
import type { Templates } from "../templates.ts";

/** A registry that does not answer is the build's to report, which asks it for the image itself. */
const ASK_LIMIT_MS = 30_000;

export interface TriggersDeps {
  readonly templates: Templates;
  readonly images: Pick<ImageSource, "triggers">;
}

/** What Dockerfiles that begin with an image or a template do first. */
export class Triggers {
  private readonly deps: TriggersDeps;

  constructor(deps: TriggersDeps) {
    this.deps = deps;
  }

  /** Instructions as their texts; none where they can't be read, since the build then says why. */
  async of(teamId: TeamId, { fromImage, fromTemplate, fromImageRegistry: access }: TriggersOf, signal: AbortSignal): Promise<string[]> {
    const { templates, images } = this.deps;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
    try {
      const own = fromTemplate === undefined ? templateOfImage(fromImage ?? "") : { name: fromTemplate, inherits: true };
      if (own) return own.inherits ? [...(templates.resolve(teamId, own.name).spec.onBuild ?? [])] : [];
      if (fromImage === undefined || fromImage === "scratch") return [];
      return [...(await images.triggers(fromImage, { signal: limit, ...(access ? { access } : {}) }))];
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error) || limit.aborted) return [];
      throw error;
    }
  }
}
