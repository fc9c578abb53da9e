import type { ImageStore } from "@boxyard/driver";
import { tarEnd, tarHeader, tarPadding } from "@boxyard/spec/tar";
import { type ReaderLimit, ReaderWatch } from "../reader-watch.ts";
import { MEDIA, sha256 } from "./manifest.ts";
import { configBytes, type ImageFacts, manifestBytes } from "./settings.ts";
import { tarSize } from "./tar.ts";

export interface ExportOptions {
  readonly image: ImageFacts;
  readonly images: ImageStore;
  readonly signal: AbortSignal;
  /** Name of the image in the archive (annotation `org.opencontainers.image.ref.name`); none by default. */
  readonly name?: string;
}

export interface ExportedArchive {
  /** Digest of the image's manifest. */
  readonly digest: string;
  /** Size of the whole tar. */
  readonly sizeBytes: number;
  /** Made while it is read; nothing is done before. */
  readonly tar: ReadableStream<Uint8Array>;
}

/**
 * An image as an OCI archive (image-spec, "Image Layout", in a tar). Layers are not compressed, so the archive is made while it is read, without
 * a file on the disk, and equal images give equal archives. Throws `not_found` for a layer that is not on this machine.
 */
export async function exportArchive({ image, images, signal, name }: ExportOptions): Promise<ExportedArchive> {
  const infos = await Promise.all(image.layers.map((digest) => images.getLayer(digest)));
  const layers = infos.map(({ digest, sizeBytes }) => ({ mediaType: MEDIA.layer, digest, size: sizeBytes }));
  const config = configBytes(image);
  const manifest = manifestBytes(config, layers);
  const digest = sha256(manifest);
  const annotations = name === undefined ? {} : { annotations: { "org.opencontainers.image.ref.name": name } };
  const descriptor = { mediaType: MEDIA.manifest, digest, size: manifest.length, ...annotations };
  const index = JSON.stringify({ schemaVersion: 2, mediaType: MEDIA.index, manifests: [descriptor] });
  const text = (value: string) => new TextEncoder().encode(value);
  const documents: [string, Uint8Array][] = [
    ["oci-layout", text(JSON.stringify({ imageLayoutVersion: "1.0.0" }))],
    ["index.json", text(index)],
    [blobPath(digest), manifest],
    [blobPath(sha256(config)), config],
  ];
  const sizes = [...documents.map(([, data]) => data.length), ...layers.map(({ size }) => size)];
  const sizeBytes = sizes.reduce((sum, size) => sum + tarSize(size), tarEnd().length);
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    for (const [path, data] of documents) yield* file(path, data);
    for (const layer of layers) {
      yield tarHeader({ name: blobPath(layer.digest), size: layer.size });
      for await (const piece of await images.exportLayer(layer.digest, { signal })) yield piece;
      yield tarPadding(layer.size);
    }
    yield tarEnd();
  };
  return { digest, sizeBytes, tar: streamOf(parts()) };
}

const blobPath = (digest: string): string => `blobs/sha256/${digest.slice(7)}`;

function* file(path: string, data: Uint8Array): Generator<Uint8Array> {
  yield tarHeader({ name: path, size: data.length });
  yield data;
  yield tarPadding(data.length);
}

/** A stream that takes a piece of `parts` for each read, and ends `parts` when its reader cancels, or takes nothing for longer than `limit` says. */
export function streamOf(parts: AsyncGenerator<Uint8Array>, limit?: ReaderLimit): ReadableStream<Uint8Array> {
  let watch: ReaderWatch | undefined;
  return new ReadableStream(
    {
      start(controller) {
        if (!limit) return;
        watch = new ReaderWatch(limit, (error) => {
          controller.error(error);
          void parts.return(undefined);
        });
      },
      async pull(controller) {
        watch?.stop();
        for (;;) {
          const { done, value } = await parts.next();
          if (done) return controller.close();
          if (value.length > 0) {
            watch?.wait();
            return controller.enqueue(value);
          }
        }
      },
      async cancel() {
        watch?.stop();
        await parts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
