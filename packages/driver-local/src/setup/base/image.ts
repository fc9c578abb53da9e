import type { TemplateSettings } from "./recipe.ts";

/** The facts of a template's OCI image of one layer (image-spec: config, manifest). It depends on nothing else, so equal trees have equal digests. */
export interface ImageFacts {
  /** Digest of the layer's tar; since that is uncompressed, also its diff id. */
  readonly layer: string;
  readonly layerBytes: number;
}

const sha256 = (text: string): string => `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;

/** The digest of the image, which is its manifest's. */
export function imageDigest({ layer, layerBytes }: ImageFacts, { user, workdir, env }: TemplateSettings): string {
  const config = JSON.stringify({
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { User: user, WorkingDir: workdir, Env: Object.entries(env).map(([name, value]) => `${name}=${value}`) },
    rootfs: { type: "layers", diff_ids: [layer] },
  });
  const manifest = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: sha256(config), size: Buffer.byteLength(config) },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", digest: layer, size: layerBytes }],
  };
  return sha256(JSON.stringify(manifest));
}
