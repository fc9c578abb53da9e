import { createWriteStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { AppError, isAppError } from "@boxyard/core";
import type { ImageStore } from "@boxyard/driver";
import { RegistryClient } from "./client.ts";
import { loginOf } from "./credentials.ts";
import type { RegistryCredentials } from "./login.ts";
import { MEDIA, sha256 } from "./manifest.ts";
import { type ImageReference, manifestName } from "./reference.ts";
import { retried } from "./retried.ts";
import { configBytes, type ImageFacts, type LayerBlob, manifestBytes } from "./settings.ts";
import type { Transport } from "./transport.ts";
import { withWorkDirectory } from "./work-directory.ts";

/** A blob up to this size is sent in one request, a larger one in pieces of this size, each of which can be sent again. */
const PIECE_BYTES = 32 << 20;
const MAX_ATTEMPTS = 4;
const RETRY_MS = 100;

export interface PushOptions {
  readonly reference: ImageReference;
  readonly image: ImageFacts;
  readonly images: ImageStore;
  readonly credentials?: RegistryCredentials;
  readonly transport: Transport;
  /** Directory for compressed layers until they are sent. */
  readonly directory: string;
  readonly signal: AbortSignal;
  /** Blobs of layers in registries, by diff id; `repository`: one of the same registry that may have the blob. */
  readonly blobs?: ReadonlyMap<string, LayerBlob & { readonly repository?: string }>;
  readonly onProgress?: (progress: PushProgress) => void;
}

export interface PushProgress {
  readonly layersDone: number;
  readonly layers: number;
  /** How many of `bytes` are done, counted uncompressed. A layer that the registry has counts at once. */
  readonly bytesDone: number;
  readonly bytes: number;
  /** Bytes sent so far; layers are sent compressed. */
  readonly bytesSent: number;
}

export interface PushedImage {
  /** Digest of the manifest in the registry. */
  readonly digest: string;
  /** The blob of each layer in the registry, by diff id; the next push uses it. */
  readonly blobs: ReadonlyMap<string, LayerBlob>;
}

/** Sends an image of this machine to a registry as an OCI image. Blobs that the registry has are not sent. Errors as for `pullImage`. */
export async function pushImage(options: PushOptions): Promise<PushedImage> {
  const { reference, transport, signal, image, credentials } = options;
  const login = credentials && (await loginOf(credentials, reference.registry, transport, signal));
  const push = new Push(new RegistryClient(reference, login, transport), options);
  const infos = await Promise.all(image.layers.map((diffId) => options.images.getLayer(diffId)));
  push.setTotal(infos.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const blobs = new Map<string, LayerBlob>();
  for (const diffId of image.layers) blobs.set(diffId, await push.layer(diffId));
  const config = configBytes(image);
  await push.bytes(config);
  const manifest = manifestBytes(
    config,
    image.layers.map((diffId) => blobs.get(diffId) as LayerBlob),
  );
  const digest = sha256(manifest);
  await push.manifest(manifest, reference.tag ?? digest);
  if (reference.digest !== undefined && reference.digest !== digest) {
    throw new AppError("failed_precondition", `The image is ${digest}, not ${manifestName(reference)}`, { reason: "bad_digest" });
  }
  return { digest, blobs };
}

class Push {
  private readonly client: RegistryClient;
  private readonly options: PushOptions;
  private bytesSent = 0;
  private bytesDone = 0;
  private total = 0;
  private layersDone = 0;

  constructor(client: RegistryClient, options: PushOptions) {
    this.client = client;
    this.options = options;
  }

  /** Reports the size of all layers together. */
  setTotal(bytes: number): void {
    this.total = bytes;
    this.tell(0);
  }

  async layer(diffId: string): Promise<LayerBlob> {
    const known = this.options.blobs?.get(diffId);
    const { signal } = this.options;
    const there =
      known && ((await retried(this.client.transport.clock, signal, () => this.has(known.digest))) || (await this.mounted(known)));
    const blob = there ? { mediaType: known.mediaType, digest: known.digest, size: known.size } : await this.packAndSend(diffId);
    this.layersDone++;
    this.tell(0, there ? (await this.options.images.getLayer(diffId)).sizeBytes : 0);
    return blob;
  }

  bytes(data: Uint8Array): Promise<void> {
    const digest = sha256(data);
    return retried(this.client.transport.clock, this.options.signal, async () => {
      if (await this.has(digest)) return;
      const at = await this.begin();
      await this.finish(at, digest, data as Uint8Array<ArrayBuffer>);
    });
  }

  manifest(data: Uint8Array, name: string): Promise<void> {
    const headers = { "content-type": MEDIA.manifest };
    const url = this.client.url(`manifests/${name}`);
    return retried(this.client.transport.clock, this.options.signal, async () =>
      this.expect(201, await this.request(url, { method: "PUT", headers, body: data as Uint8Array<ArrayBuffer> }), "takes no manifest"),
    );
  }

  private async packAndSend(diffId: string): Promise<LayerBlob> {
    const { images, directory, signal } = this.options;
    return withWorkDirectory(directory, async (work) => {
      const path = join(work, "layer");
      const tar = await images.exportLayer(diffId, { signal });
      const digest = await pack(tar, path, signal, (bytes) => this.tell(0, bytes));
      const { size } = statSync(path);
      if (!(await retried(this.client.transport.clock, signal, () => this.has(digest)))) await this.send(path, size, digest);
      return { mediaType: MEDIA.layerGzip, digest, size };
    });
  }

  private async has(digest: string): Promise<boolean> {
    const response = await this.request(this.client.url(`blobs/${digest}`), { method: "HEAD" });
    await response.body?.cancel();
    // Some registries redirect a HEAD for a blob that they have.
    if (response.ok || response.status === 307) return true;
    if (response.status === 404) return false;
    throw await this.client.failure(response, `the blob ${digest}`);
  }

  /** Asks the registry to take the blob from another of its repositories. True when it did. */
  private async mounted({ digest, repository }: { digest: string; repository?: string }): Promise<boolean> {
    if (repository === undefined) return false;
    const url = this.client.url("blobs/uploads/");
    url.searchParams.set("mount", digest);
    url.searchParams.set("from", repository);
    const { signal } = this.options;
    const response = await this.client.request(url, "push", { method: "POST", signal }, [`repository:${repository}:pull`]);
    await response.body?.cancel();
    if (response.status === 202) await this.abandon(this.client.locationOf(response, url));
    return response.status === 201;
  }

  private async send(path: string, size: number, digest: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const at = await this.begin();
        const end = size <= PIECE_BYTES ? at : await this.sendPieces(at, path, size);
        await this.finish(end, digest, size <= PIECE_BYTES ? await Bun.file(path).bytes() : undefined);
        this.tell(size <= PIECE_BYTES ? size : 0);
        return;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isAppError(error, "unavailable")) throw error;
        await this.pause(attempt);
      }
    }
  }

  private async sendPieces(first: URL, path: string, size: number): Promise<URL> {
    await using file = await open(path, "r");
    const buffer = new Uint8Array(PIECE_BYTES);
    let at = first;
    let failures = 0;
    for (let from = 0; from < size; ) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, from);
      const headers = { "content-type": "application/octet-stream", "content-range": `${from}-${from + bytesRead - 1}` };
      try {
        const response = await this.request(at, { method: "PATCH", headers, body: buffer.subarray(0, bytesRead) });
        await this.expect(202, response, "takes no more of a layer");
        at = this.client.locationOf(response, at);
        from += bytesRead;
        this.tell(bytesRead);
      } catch (error) {
        if (++failures === MAX_ATTEMPTS || !isAppError(error, "unavailable")) throw error;
        await this.pause(failures);
        ({ at, from } = await this.uploadedSoFar(at));
      }
    }
    return at;
  }

  /** How much of an interrupted upload the registry has, and the address to continue at. */
  private async uploadedSoFar(url: URL): Promise<{ at: URL; from: number }> {
    const response = await this.request(url, { method: "GET" });
    await this.expect(204, response, "forgot an upload");
    const last = /^(?:bytes=)?0-(\d+)$/.exec(response.headers.get("range") ?? "")?.[1];
    return { at: this.client.locationOf(response, url), from: last === undefined || last === "0" ? 0 : Number(last) + 1 };
  }

  private async begin(): Promise<URL> {
    const url = this.client.url("blobs/uploads/");
    const response = await this.request(url, { method: "POST", headers: { "content-length": "0" } });
    await this.expect(202, response, "begins no upload");
    return this.client.locationOf(response, url);
  }

  private async finish(at: URL, digest: string, body?: Uint8Array<ArrayBuffer>): Promise<void> {
    const url = new URL(at);
    url.searchParams.set("digest", digest);
    const headers = { "content-type": "application/octet-stream", "content-length": String(body?.length ?? 0) };
    await this.expect(201, await this.request(url, { method: "PUT", headers, ...(body && { body }) }), "does not take a layer");
  }

  /** Waits before the next attempt, with backoff. */
  private async pause(attempt: number): Promise<void> {
    const { signal } = this.options;
    await this.client.transport.clock.sleep(RETRY_MS * 2 ** attempt, signal).catch(() => signal.throwIfAborted());
  }

  private async abandon(url: URL): Promise<void> {
    const response = await this.request(url, { method: "DELETE" });
    await response.body?.cancel();
  }

  private request(url: URL, options: { method: string; headers?: Record<string, string>; body?: BodyInit }): Promise<Response> {
    return this.client.request(url, "push", { ...options, signal: this.options.signal });
  }

  private async expect(status: number, response: Response, what: string): Promise<void> {
    if (response.status !== status) throw await this.client.failure(response, what);
    await response.body?.cancel();
  }

  private tell(sent: number, done = 0): void {
    this.bytesSent += sent;
    this.bytesDone += done;
    const { layersDone, bytesSent, bytesDone, total: bytes } = this;
    this.options.onProgress?.({ layersDone, layers: this.options.image.layers.length, bytesDone, bytes, bytesSent });
  }
}

/** Compresses a layer's tar with gzip into a file; returns the digest of the file. */
async function pack(tar: ReadableStream<Uint8Array>, path: string, signal: AbortSignal, onBytes: (bytes: number) => void): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  const read = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  // Level 5 takes half as long as level 6, and the result is at most two percent larger.
  await pipeline(
    Readable.from(tar),
    read,
    createGzip({ level: 5, chunkSize: 256 * 1024 }),
    counter,
    createWriteStream(path, { mode: 0o600 }),
    {
      signal,
    },
  );
  return `sha256:${hash.digest("hex")}`;
}
