import { AppError } from "@boxyard/core";
import type { ImageRef, ImageStore, ImportLayerOptions } from "@boxyard/driver";
import type { Pins } from "../images/pins.ts";
import {
  badImage,
  type ConfigFile,
  choosePlatform,
  type Descriptor,
  type Manifest,
  machinePlatform,
  type Platform,
  parseConfig,
  parseManifest,
} from "./manifest.ts";
import { type ImageSettings, imageDigest, settingsOf } from "./settings.ts";
import type { ImageSource } from "./source.ts";

/** How many layers are fetched at once. */
const CONCURRENT_LAYERS = 3;
/** Limit of the bytes of all layers of an image together, as they are in the source. */
const MAX_IMAGE_BYTES = 128 * 1024 ** 3;
/** How many documents are read at most, from the top document to the manifest. */
const MAX_DEPTH = 3;

export interface PullProgress {
  /** How many of `layers` are on this machine. */
  readonly layersDone: number;
  readonly layers: number;
  /** How many of `bytes` have been fetched, counted as they are in the source. Layers that were on this machine before count as fetched. */
  readonly bytesDone: number;
  readonly bytes: number;
}

export interface InstallOptions {
  readonly images: ImageStore;
  readonly pins: Pins;
  readonly signal: AbortSignal;
  /** The platform of this machine by default. */
  readonly platform?: Platform;
  readonly onProgress?: (progress: PullProgress) => void;
  /** Called with the device nodes of a layer, which are not unpacked. */
  readonly onLeftOut?: NonNullable<ImportLayerOptions["onLeftOut"]>;
  /** How many layers may be added on top: lower layers are merged until the image has at most `maxLayers` (a capability) minus this. 8 by default. */
  readonly spareLayers?: number;
  /** Limit of the bytes of one layer's tar; the driver's limit by default. */
  readonly maxLayerBytes?: number;
}

/** An image on this machine. Its layers are pinned until it is disposed of; a template or a build must refer to them by then. */
export interface InstalledImage extends Disposable {
  readonly image: ImageRef;
  readonly settings: ImageSettings;
  /** Digest of the manifest in the source. */
  readonly sourceDigest: string;
  /** The blob of each layer in the source, by diff id; a push to the same place reuses it. */
  readonly blobs: ReadonlyMap<string, Descriptor>;
}

/** Fetches the layers of an image that are not on this machine, a few at a time. Errors as for `pullImage`. */
export async function installImage(source: ImageSource, options: InstallOptions): Promise<InstalledImage> {
  const { signal, platform = machinePlatform() } = options;
  const { digest: sourceDigest, manifest } = await findManifest(source, platform, signal);
  const { bytes } = await source.document(manifest.config, signal);
  const config = parseConfig(bytes, manifest, platform);
  const diffIds = config.rootfs.diff_ids;
  if (diffIds.length === 0) throw badImage("it has no layers");
  const pin = options.pins.hold(diffIds);
  try {
    await fetchLayers(source, manifest.layers, diffIds, options);
    const { image, pinned } = await asImage(config, sourceDigest, options);
    pin.add(pinned);
    return {
      image,
      sourceDigest,
      settings: settingsOf(config),
      blobs: new Map(diffIds.map((diffId, i) => [diffId, manifest.layers[i] as Descriptor])),
      [Symbol.dispose]: () => pin[Symbol.dispose](),
    };
  } catch (error) {
    pin[Symbol.dispose]();
    throw error;
  }
}

/** Reads the settings of an image, without its layers. Errors as for `pullImage`. */
export async function settingsFrom(source: ImageSource, signal: AbortSignal, platform = machinePlatform()): Promise<ImageSettings> {
  const { manifest } = await findManifest(source, platform, signal);
  const { bytes } = await source.document(manifest.config, signal);
  return settingsOf(parseConfig(bytes, manifest, platform));
}

async function findManifest(source: ImageSource, platform: Platform, signal: AbortSignal): Promise<{ digest: string; manifest: Manifest }> {
  let document = await source.top(signal);
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const parsed = parseManifest(document.bytes, document.mediaType);
    if ("manifest" in parsed) return { digest: document.digest, manifest: parsed.manifest };
    document = await source.document(choosePlatform(parsed.index, platform), signal);
  }
  throw badImage("its indexes are nested too deep");
}

async function fetchLayers(
  source: ImageSource,
  descriptors: readonly Descriptor[],
  diffIds: readonly string[],
  options: InstallOptions,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const progress = new Progress(descriptors, options.onProgress);
  if (progress.total > MAX_IMAGE_BYTES) {
    const message = `The image is larger than allowed: more than ${MAX_IMAGE_BYTES / 1024 ** 3} GiB`;
    throw new AppError("resource_exhausted", message, { reason: "image_too_large" });
  }
  // Images repeat layers, such as the empty one; each is fetched once.
  const wanted = diffIds.flatMap((diffId, i) =>
    diffIds.indexOf(diffId) === i ? [{ diffId, descriptor: descriptors[i] as Descriptor }] : [],
  );
  const next = wanted.values();
  const worker = async () => {
    for (const { diffId, descriptor } of next) {
      const above = diffIds.slice(0, diffIds.indexOf(diffId));
      await fetchLayer(source, descriptor, diffId, { ...options, signal, above }, progress);
      progress.layerDone(diffIds.filter((other) => other === diffId).length);
    }
  };
  const workers = Array.from({ length: CONCURRENT_LAYERS }, async () => {
    try {
      await worker();
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  const results = await Promise.allSettled(workers);
  options.signal.throwIfAborted();
  // The first failure is the cause of the others.
  if (results.some((result) => result.status === "rejected")) throw failed.signal.reason;
}

async function fetchLayer(
  source: ImageSource,
  descriptor: Descriptor,
  diffId: string,
  options: InstallOptions & { readonly above: readonly string[] },
  progress: Progress,
): Promise<void> {
  const { above, images, signal, maxLayerBytes, onLeftOut } = options;
  if (await images.hasLayer(diffId)) return progress.bytes(descriptor.size);
  await using file = await source.blob(descriptor, { signal, onBytes: (bytes) => progress.bytes(bytes) });
  await images.importLayer(images.capabilities.localFiles ? { path: file.path } : Bun.file(file.path).stream(), {
    ...{ signal, expectedDigest: diffId, above },
    ...(maxLayerBytes !== undefined && { maxBytes: maxLayerBytes }),
    ...(onLeftOut && { onLeftOut }),
  });
}

/** The image as the driver takes it: no layer twice, and lower layers merged where there are too many. */
async function asImage(config: ConfigFile, sourceDigest: string, options: InstallOptions): Promise<{ image: ImageRef; pinned: string[] }> {
  const { images, signal, spareLayers = 8 } = options;
  const all = config.rootfs.diff_ids;
  // Of two equal layers only the upper one has an effect.
  const layers = all.filter((diffId, i) => all.lastIndexOf(diffId) === i);
  const room = Math.max(1, images.capabilities.maxLayers - spareLayers);
  if (layers.length <= room) {
    if (layers.length === all.length) return { image: { digest: sourceDigest, layers }, pinned: [] };
    return { image: await named(layers, config, images), pinned: [] };
  }
  const below = layers.slice(0, layers.length - room + 1);
  const merged = await images.mergeLayers(below, { signal });
  const fewer = [merged.digest, ...layers.slice(below.length)];
  return { image: await named(fewer, config, images), pinned: [merged.digest] };
}

async function named(layers: readonly string[], config: ConfigFile, images: ImageStore): Promise<ImageRef> {
  const sizes = await Promise.all(layers.map(async (digest) => (await images.getLayer(digest)).sizeBytes));
  return { digest: imageDigest({ layers, settings: settingsOf(config) }, sizes), layers };
}

class Progress {
  private readonly report: ((progress: PullProgress) => void) | undefined;
  private readonly layers: number;
  readonly total: number;
  private layersDone = 0;
  private bytesDone = 0;

  constructor(descriptors: readonly Descriptor[], report: ((progress: PullProgress) => void) | undefined) {
    this.report = report;
    this.layers = descriptors.length;
    // A repeated blob is fetched once.
    this.total = [...new Map(descriptors.map(({ digest, size }) => [digest, size])).values()].reduce((a, b) => a + b, 0);
  }

  bytes(count: number): void {
    this.bytesDone += count;
    this.tell();
  }

  layerDone(count: number): void {
    this.layersDone += count;
    this.tell();
  }

  private tell(): void {
    this.report?.({ layersDone: this.layersDone, layers: this.layers, bytesDone: this.bytesDone, bytes: this.total });
  }
}
