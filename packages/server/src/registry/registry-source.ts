import { AppError } from "@boxyard/core";
import type { RegistryClient } from "./client.ts";
import { type Downloads, NotResumable } from "./downloads.ts";
import { badImage, type Descriptor, MAX_DOCUMENT_BYTES, MEDIA, sha256 } from "./manifest.ts";
import { DIGEST } from "./reference.ts";
import { retried } from "./retried.ts";
import type { BlobFile, Document, FetchOptions, ImageSource } from "./source.ts";

const ACCEPT = [MEDIA.index, MEDIA.manifest, MEDIA.dockerList, MEDIA.dockerManifest].join(", ");

/** An image in a registry. */
export class RegistrySource implements ImageSource {
  private readonly client: RegistryClient;
  private readonly name: string;
  private readonly downloads: Downloads;

  /** `name`: tag or digest. */
  constructor(client: RegistryClient, name: string, downloads: Downloads) {
    this.client = client;
    this.name = name;
    this.downloads = downloads;
  }

  top(signal: AbortSignal): Promise<Document> {
    return this.manifest(this.name, DIGEST.test(this.name) ? this.name : undefined, signal);
  }

  async document(descriptor: Descriptor, signal: AbortSignal): Promise<Document> {
    if (descriptor.size > MAX_DOCUMENT_BYTES) throw badImage("a document of it is too large");
    if (ACCEPT.includes(descriptor.mediaType)) return this.manifest(descriptor.digest, descriptor.digest, signal);
    return retried(this.client.transport.clock, signal, async () => {
      const response = await this.get(`blobs/${descriptor.digest}`, {}, "its configuration", signal);
      return this.checked(response, descriptor.digest);
    });
  }

  blob(descriptor: Descriptor, options: FetchOptions): Promise<BlobFile> {
    return this.downloads.fetch(descriptor, options, async (from, signal) => {
      const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
      const url = this.client.url(`blobs/${descriptor.digest}`);
      const response = await this.client.request(url, "pull", { headers, signal });
      if (response.status === 416) throw new NotResumable();
      if (response.status !== 200 && response.status !== 206) throw await this.client.failure(response, `the layer ${descriptor.digest}`);
      const start = response.status === 206 ? Number(/^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1]) : 0;
      if (!response.body) throw new AppError("unavailable", "The registry sent nothing", { reason: "registry_answer" });
      return { start, body: response.body };
    });
  }

  private manifest(name: string, expected: string | undefined, signal: AbortSignal): Promise<Document> {
    return retried(this.client.transport.clock, signal, async () => {
      const response = await this.get(`manifests/${name}`, { accept: ACCEPT }, `the image '${name}'`, signal);
      return this.checked(response, expected);
    });
  }

  private async get(path: string, headers: Record<string, string>, what: string, signal: AbortSignal): Promise<Response> {
    const response = await this.client.request(this.client.url(path), "pull", { headers, signal });
    if (response.ok) return response;
    throw await this.client.failure(response, what);
  }

  private async checked(response: Response, expected: string | undefined): Promise<Document> {
    const bytes = await this.client.transport.bytes(response, MAX_DOCUMENT_BYTES);
    const digest = sha256(bytes);
    if (expected !== undefined && digest !== expected) {
      throw new AppError("data_loss", `${this.client.registry} sent ${digest} for ${expected}`, { reason: "bad_digest" });
    }
    return { bytes, digest, mediaType: (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "" };
  }
}
