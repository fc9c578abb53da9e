import type { ImageStore } from "@boxyard/driver";
import type { Pins } from "../../images/pins.ts";
import { type Downloads, type PullProgress, parseImageReference, pullImage, type Transport } from "../../registry/index.ts";
import type { ImageSource, PulledImage, PullRequest } from "./image-source.ts";

export interface RegistryImagesDeps {
  readonly images: ImageStore;
  readonly pins: Pins;
  readonly downloads: Downloads;
  readonly transport: Transport;
  /** `HOST[:PORT][/PREFIX]` of names without a registry; without it such names are refused. */
  readonly registry?: string;
}

/** Lines of progress are at least this far apart, in per cent of the image. */
const TELL_EVERY = 10;

/** Images from registries, for builds. */
export class RegistryImages implements ImageSource {
  private readonly deps: RegistryImagesDeps;

  constructor(deps: RegistryImagesDeps) {
    this.deps = deps;
  }

  async pull(reference: string, { access, signal, say, pin }: PullRequest): Promise<PulledImage> {
    const { registry, ...deps } = this.deps;
    const parsed = parseImageReference(reference, registry === undefined ? {} : { registry });
    const onProgress = teller(say);
    using installed = await pullImage({ ...deps, reference: parsed, signal, onProgress, ...(access ? { credentials: access } : {}) });
    pin.add(installed.image.layers);
    return { digest: installed.sourceDigest, layers: installed.image.layers, env: installed.settings.env };
  }
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
