import { createHash } from "node:crypto";
import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/* Images go to a registry by hand, without our own code of pushes. */

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

export interface Login {
  readonly username: string;
  readonly password: string;
}

export interface PushTarget {
  /** Of a registry: `127.0.0.1:5000`. */
  readonly host: string;
  /** Of the image: `library/alpine`. */
  readonly name: string;
  readonly tag: string;
  readonly login?: Login | undefined;
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

/** Pushes an image of one layer. */
export async function pushLayer(tar: Uint8Array<ArrayBuffer>, config: object, target: PushTarget): Promise<void> {
  const pusher = new Pusher(target);
  const layer = await pusher.bytes(Bun.gzipSync(tar, { level: 1 }));
  await pushManifest(pusher, config, { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", ...layer }, sha256(tar));
}

/** A tar of which the digest is known. */
export interface KnownTar {
  readonly path: string;
  readonly digest: string;
}

/**
 * Pushes an image of one layer that is not compressed. The registry keeps its blobs below `directory`, and gets a link to the tar there: to send it
 * would take seconds.
 */
export async function pushBigLayer(
  tar: KnownTar,
  config: object,
  { directory, ...target }: PushTarget & { directory: string },
): Promise<void> {
  const root = join(directory, "data/docker/registry/v2");
  const hex = tar.digest.slice("sha256:".length);
  const blob = join(root, "blobs/sha256", hex.slice(0, 2), hex);
  mkdirSync(blob, { recursive: true });
  symlinkSync(tar.path, join(blob, "data"));
  const link = join(root, "repositories", target.name, "_layers/sha256", hex);
  mkdirSync(link, { recursive: true });
  writeFileSync(join(link, "link"), tar.digest);
  const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar", digest: tar.digest, size: statSync(tar.path).size };
  await pushManifest(new Pusher(target), config, layer, tar.digest);
}

async function pushManifest(pusher: Pusher, config: object, layer: Descriptor & { mediaType: string }, diffId: string): Promise<void> {
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const document = { architecture, os: "linux", config, rootfs: { type: "layers", diff_ids: [diffId] } };
  const settings = await pusher.bytes(new TextEncoder().encode(JSON.stringify(document)));
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...settings },
    layers: [layer],
  };
  await pusher.manifest(JSON.stringify(manifest));
}

const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

class Pusher {
  private readonly base: string;
  private readonly target: PushTarget;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(target: PushTarget) {
    const { host, login } = target;
    this.target = target;
    this.base = `http://${host}`;
    this.headers = login ? { Authorization: `Basic ${btoa(`${login.username}:${login.password}`)}` } : {};
  }

  async manifest(text: string): Promise<void> {
    const init = { method: "PUT", headers: { "Content-Type": MANIFEST }, body: text };
    await this.call(201, `/v2/${this.target.name}/manifests/${this.target.tag}`, init);
  }

  async bytes(bytes: Uint8Array<ArrayBuffer>): Promise<Descriptor> {
    const digest = sha256(bytes);
    await this.blob(digest, bytes);
    return { digest, size: bytes.byteLength };
  }

  async blob(digest: string, body: Uint8Array<ArrayBuffer> | Blob): Promise<void> {
    const begun = await this.call(202, `/v2/${this.target.name}/blobs/uploads/`, { method: "POST" });
    const place = new URL(begun.headers.get("location") ?? "", this.base);
    place.searchParams.set("digest", digest);
    await this.call(201, place.pathname + place.search, { method: "PUT", body });
  }

  private async call(status: number, path: string, init: RequestInit): Promise<Response> {
    const response = await fetch(new URL(path, this.base), {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...this.headers },
    });
    if (response.status !== status) throw new Error(`${init.method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}
