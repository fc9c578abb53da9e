import { AppError, type Clock, isAppError, Semaphore, type TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ImageStore, SnapshotStore } from "@boxyard/driver";
import type { PushEvent, PushTemplate } from "@boxyard/spec/platform";
import type { Pins } from "../../images/pins.ts";
import {
  type ExportedArchive,
  exportArchive,
  formatReference,
  type LayerBlob,
  type PushProgress,
  parseImageReference,
  pushImage,
  streamOf,
  type Transport,
} from "../../registry/index.ts";
import { wholeImage } from "../snapshots/whole-image.ts";
import type { Templates } from "../templates.ts";
import { imageOfTemplate } from "./template-image.ts";

/** Pushes and exports that run at once; each packs or reads whole layers. */
const MAX_AT_ONCE = 4;
/** Milliseconds for which the client of an export may take nothing: it holds one of the few turns. */
const READER_LIMIT_MS = 60_000;
/** Layers whose packed blob is remembered. */
const MAX_KNOWN_BLOBS = 10_000;

export interface TemplateImagesDeps {
  readonly templates: Templates;
  readonly images: ImageStore;
  readonly snapshots: SnapshotStore;
  readonly pins: Pins;
  readonly transport: Transport;
  /** Directory for layers in transit. */
  readonly directory: string;
  /** `HOST[:PORT][/PREFIX]` for references without a registry. */
  readonly registry?: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Runs a push and reports its progress. Never rejects: the result, or the failure, is the last event. */
export type PushWork = (tell: (event: PushEvent) => void, signal: AbortSignal) => Promise<PushEvent>;

/** Exports templates as OCI images: to registries, and as archives. */
export class TemplateImages {
  private readonly deps: TemplateImagesDeps;
  private readonly turns = new Semaphore(MAX_AT_ONCE);
  private readonly blobs = new Map<string, LayerBlob>();

  constructor(deps: TemplateImagesDeps) {
    this.deps = deps;
  }

  /** Checks a request for a push and returns the work. Throws `not_found`, `invalid_argument`. Credentials are kept in memory for the request only. */
  push(teamId: TeamId, text: string, { reference, registry: credentials }: PushTemplate): PushWork {
    const { templates, registry: ours, images, transport, directory, logger } = this.deps;
    const { spec, templateId } = templates.resolve(teamId, text);
    const to = parseImageReference(reference, { isExplicit: true, ...(ours === undefined ? {} : { registry: ours }) });
    if (to.digest !== undefined) {
      const message = "reference: names a digest, which follows from the image; name a tag";
      throw new AppError("invalid_argument", message, { reason: "invalid_image_reference" });
    }
    const about = { templateId, registry: to.registry, repository: to.repository };
    return async (tell, signal) => {
      try {
        using _turn = await this.turns.enter(signal);
        using pin = this.deps.pins.hold([]);
        const onProgress = (progress: PushProgress) => tell({ type: "progress", ...progress });
        const image = imageOfTemplate({ ...spec, image: await wholeImage(this.deps, spec, { signal, pin }) });
        const options = { reference: to, image, images, transport, directory, signal, blobs: this.blobs, onProgress };
        const { digest, blobs } = await pushImage({ ...options, ...(credentials ? { credentials } : {}) });
        this.remember(blobs);
        logger.info({ ...about, digest }, "template pushed");
        return { type: "done", reference: formatReference(to), digest };
      } catch (error) {
        return { type: "failed", ...this.explain(error, about, signal) };
      }
    };
  }

  /** Exports a template as an archive, whose bytes are made while it is read. Throws `not_found`. */
  async export(teamId: TeamId, text: string, signal: AbortSignal): Promise<ExportedArchive> {
    const { templates, images, pins, logger, clock } = this.deps;
    const { spec, name, tag, templateId } = templates.resolve(teamId, text);
    using pin = pins.hold([]);
    const image = await wholeImage(this.deps, spec, { signal, pin });
    const archive = await exportArchive({ image: imageOfTemplate({ ...spec, image }), images, signal, name: `${name}:${tag}` });
    const { turns } = this;
    const pieces = async function* () {
      try {
        using _turn = await turns.enter(signal);
        using _pin = pins.hold(image.layers);
        yield* archive.tar as unknown as AsyncIterable<Uint8Array>;
      } catch (error) {
        if (!signal.aborted) logger.error({ err: error, templateId }, "an export was broken off");
        throw error;
      }
    };
    return { ...archive, tar: streamOf(pieces(), { clock, ms: READER_LIMIT_MS }) };
  }

  private explain(error: unknown, about: object, signal: AbortSignal): Pick<AppError, "code" | "reason" | "message"> {
    if (isAppError(error) && error.code !== "internal") {
      const { code, reason, message } = error;
      // Without the details: they hold the registry's answer, which may repeat the credentials.
      if (!signal.aborted) this.deps.logger.warn({ ...about, code, reason, message }, "template not pushed");
      return { code, reason, message };
    }
    if (!signal.aborted) this.deps.logger.error({ ...about, err: error }, "template not pushed");
    return { code: "internal", reason: "internal", message: "The server could not push the template; its log says why" };
  }

  private remember(blobs: ReadonlyMap<string, LayerBlob>): void {
    for (const [diffId, blob] of blobs) this.blobs.set(diffId, blob);
    for (const diffId of this.blobs.keys()) {
      if (this.blobs.size <= MAX_KNOWN_BLOBS) return;
      this.blobs.delete(diffId);
    }
  }
}
