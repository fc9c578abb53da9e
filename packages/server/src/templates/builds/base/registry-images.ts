import { AppError, isAppError } from "@boxyard/core";
import type { ImageStore } from "@boxyard/driver";
import type { Pin, Pins } from "../../../images/pins.ts";
import {
  DOCKER_HUB,
  type Downloads,
  type InstalledImage,
  type InstallOptions,
  importArchive,
  type PullProgress,
  parseImageReference,
  pullImage,
  pullSettings,
  type Transport,
} from "../../../registry/index.ts";
import { templateFactsOf } from "../../images/template-image.ts";
import type { ImageSource, PulledImage, PullRequest } from "./image-source.ts";

export interface RegistryImagesDeps {
  readonly images: ImageStore;
  readonly pins: Pins;
  readonly downloads: Downloads;
  readonly transport: Transport;
  /** Directory for files in transit. */
  readonly directory: string;
  /** `HOST[:PORT][/PREFIX]` for references without a registry, in place of Docker Hub. */
  readonly registry?: string;
}

/** Least difference between two lines of progress, in per cent of the image. */
const TELL_EVERY = 10;
/** Most triggers of an image that the log names. */
const MAX_TOLD = 20;
/** How long partial downloads of layers are kept for another pull. */
const KEEP_PARTS_MS = 7 * 24 * 3600_000;

/** Images from registries and archives, for builds. */
export class RegistryImages implements ImageSource {
  private readonly deps: RegistryImagesDeps;

  constructor(deps: RegistryImagesDeps) {
    this.deps = deps;
  }

  async pull(reference: string, { access, signal, say, pin, onBuildDone }: PullRequest): Promise<PulledImage> {
    const { registry, ...deps } = this.deps;
    const parsed = referenceOf(reference, registry);
    const wanted = { ...deps, reference: parsed, signal, ...tellers(say), ...(access ? { credentials: access } : {}) };
    using installed = await pullImage(wanted).catch((error: unknown) => {
      throw parsed.registry === DOCKER_HUB ? withMirrorHint(error) : error;
    });
    tellTriggers(installed.settings.onBuild ?? [], onBuildDone, say);
    return taken(installed, pin);
  }

  async triggers(reference: string, { access, signal }: Pick<PullRequest, "access" | "signal">): Promise<readonly string[]> {
    const { registry, transport, downloads } = this.deps;
    const wanted = { reference: referenceOf(reference, registry), transport, downloads, signal };
    return (await pullSettings({ ...wanted, ...(access ? { credentials: access } : {}) })).onBuild ?? [];
  }

  async unpack(path: string, { signal, say, pin }: PullRequest): Promise<PulledImage> {
    const { images, pins, directory } = this.deps;
    say("reading the archive");
    using installed = await importArchive({ archive: Bun.file(path).stream(), images, pins, directory, signal, ...tellers(say) });
    const template = templateFactsOf(installed.settings);
    return { ...taken(installed, pin), ...(template ? { template } : {}) };
  }

  removeOld(): void {
    this.deps.downloads.removeOld(KEEP_PARTS_MS);
  }
}

const referenceOf = (text: string, registry: string | undefined) => parseImageReference(text, registry === undefined ? {} : { registry });

/** Writes the triggers that are not among the build's steps into the log: the client has not asked for triggers. */
export function tellTriggers(triggers: readonly string[], done: readonly string[] | undefined, say: (line: string) => void): void {
  if (done === undefined) return;
  // An image may have thousands of triggers, so a set.
  const known = new Set(done);
  for (const trigger of triggers.filter((text) => !known.has(text)).slice(0, MAX_TOLD)) {
    say(`not done: ONBUILD ${JSON.stringify(trigger.slice(0, 200))}`);
  }
}

/** Adds a hint to the errors of Docker Hub that a mirror helps against. */
function withMirrorHint(error: unknown): unknown {
  if (!isAppError(error, "registry_unreachable") && !isAppError(error, "registry_busy")) return error;
  const hint = "to take its images from a mirror, set BOXYARD_REGISTRY=HOST[:PORT][/PATH]/library where the server starts";
  return new AppError(error.code, `${error.message}; ${hint}`, { reason: error.reason, details: error.details, cause: error });
}

function taken({ image, sourceDigest, settings }: InstalledImage, pin: Pin): PulledImage {
  pin.add(image.layers);
  return { digest: sourceDigest, layers: image.layers, env: settings.env };
}

type Tellers = Required<Pick<InstallOptions, "onProgress" | "onLeftOut">>;

function tellers(say: (line: string) => void): Tellers {
  const onLeftOut: Tellers["onLeftOut"] = ({ count, examples }) =>
    say(
      `left out ${count} device node(s) of a layer (${examples.join(", ")}${count > examples.length ? ", …" : ""}): sandboxes have their own`,
    );
  return { onProgress: teller(say), onLeftOut };
}

function teller(say: (line: string) => void): (progress: PullProgress) => void {
  let told = 0;
  return ({ bytes, bytesDone, layers, layersDone }) => {
    const percent = bytes === 0 ? 100 : Math.floor((bytesDone * 100) / bytes);
    if (percent < told + TELL_EVERY) return;
    told = percent;
    say(`fetched ${percent} % of ${Math.ceil(bytes / 2 ** 20)} MiB, ${layersDone} of ${layers} layers`);
  };
}
