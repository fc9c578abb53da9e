import type { TemplateSettings } from "./recipe.ts";

/** The OCI image of one layer that a template is (image-spec: config, manifest). Made from facts alone, so equal trees have equal digests. */
export interface ImageFacts {
  /** Digest of the layer's tar, which is uncompressed, so its diff id as well. */
  readonly layer: string;
  readonly layerBytes: number;
}

const sha256 = (text: string): string => `sha256:${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;

/** The digest that names the image: that of its manifest. */
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
