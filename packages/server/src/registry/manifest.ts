import { AppError } from "@boxyard/core";
import { z } from "zod";
import { DIGEST } from "./reference.ts";

/* The documents of the image format (image-spec: manifest, index, config), with the fields that are used here. All of their content is untrusted. */

const size = z.int().min(0);
const digest = z.string().regex(DIGEST, "must be sha256:<64 hex digits>");

export const Descriptor = z.object({ mediaType: z.string().default(""), digest, size });
export type Descriptor = z.infer<typeof Descriptor>;

const Manifest = z.object({
  mediaType: z.string().optional(),
  config: Descriptor,
  layers: z.array(Descriptor).max(1000),
});
export type Manifest = z.infer<typeof Manifest>;

const Platform = z.object({ architecture: z.string(), os: z.string(), variant: z.string().optional() });
export type Platform = z.infer<typeof Platform>;

const Index = z.object({
  mediaType: z.string().optional(),
  manifests: z.array(Descriptor.extend({ platform: Platform.optional() })).max(1000),
});
export type Index = z.infer<typeof Index>;

const texts = z.array(z.string()).nullish();
export const ConfigFile = z.object({
  architecture: z.string(),
  os: z.string(),
  variant: z.string().optional(),
  created: z.string().optional(),
  config: z
    .object({
      User: z.string().nullish(),
      WorkingDir: z.string().nullish(),
      Env: texts,
      Entrypoint: texts,
      Cmd: texts,
      Shell: texts,
      Labels: z.record(z.string(), z.string()).nullish(),
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      StopSignal: z.string().nullish(),
      OnBuild: texts,
    })
    .nullish(),
  rootfs: z.object({ diff_ids: z.array(digest).max(1000) }),
});
export type ConfigFile = z.infer<typeof ConfigFile>;

export const MEDIA = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
  layerGzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
} as const;

const LAYERS = /^application\/vnd\.(oci\.image\.layer\.v1\.tar(\+(gzip|zstd))?|docker\.image\.rootfs\.diff\.tar(\.gzip|\.zstd)?)$/;
/** Limit of the bytes of a manifest or configuration. */
export const MAX_DOCUMENT_BYTES = 4 << 20;

export const badImage = (what: string) => new AppError("invalid_argument", `Bad image: ${what}`, { reason: "bad_image" });

function parsed<T>(schema: z.ZodType<T>, bytes: Uint8Array, what: string): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw badImage(`its ${what} is not JSON`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw badImage(`its ${what} has a bad field ${issue?.path.join(".")}: ${issue?.message}`);
}

/** Parses a manifest, or an index of manifests. The media type in the document counts before `mediaType`, that of the answer. Throws `bad_image`. */
export function parseManifest(bytes: Uint8Array, mediaType: string): { manifest: Manifest } | { index: Index } {
  const kind = parsed(
    z.object({ schemaVersion: z.literal(2, "must be 2 (older images must be pushed anew)"), mediaType: z.string().optional() }),
    bytes,
    "manifest",
  );
  const type = kind.mediaType ?? mediaType;
  if (type === MEDIA.index || type === MEDIA.dockerList) return { index: parsed(Index, bytes, "index") };
  if (type === MEDIA.manifest || type === MEDIA.dockerManifest) return { manifest: checked(parsed(Manifest, bytes, "manifest")) };
  throw badImage(`its manifest is of the unknown kind '${type.slice(0, 100)}'`);
}

function checked(manifest: Manifest): Manifest {
  for (const { mediaType } of manifest.layers) {
    if (!LAYERS.test(mediaType)) throw badImage(`it has a layer of the kind '${mediaType.slice(0, 100)}', which is not supported`);
  }
  return manifest;
}

/** The platform of sandboxes on this machine. */
export const machinePlatform = (): Platform => ({ os: "linux", architecture: process.arch === "arm64" ? "arm64" : "amd64" });

/** The manifest for a platform in an index. Throws `failed_precondition`, reason `image_platform`, if there is none. */
export function choosePlatform({ manifests }: Index, wanted: Platform): Descriptor {
  const fitting = manifests.filter(({ platform }) => platform?.os === wanted.os && platform.architecture === wanted.architecture);
  const found = fitting.find(({ platform }) => wanted.variant === undefined || platform?.variant === wanted.variant) ?? fitting[0];
  // Archives have an index of one manifest, without a platform.
  const only = manifests.length === 1 && manifests[0]?.platform === undefined ? manifests[0] : undefined;
  const chosen = found ?? only;
  if (chosen) return chosen;
  const have = manifests.map(({ platform }) => (platform ? `${platform.os}/${platform.architecture}` : "unknown")).slice(0, 20);
  throw wrongPlatform(wanted, [...new Set(have)].join(", "));
}

const wrongPlatform = (wanted: Platform, have: string) =>
  new AppError("failed_precondition", `The image is not there for ${wanted.os}/${wanted.architecture}, only for ${have || "nothing"}`, {
    reason: "image_platform",
  });

export function parseConfig(bytes: Uint8Array, manifest: Manifest, wanted: Platform): ConfigFile {
  const config = parsed(ConfigFile, bytes, "configuration");
  if (config.os !== wanted.os || config.architecture !== wanted.architecture)
    throw wrongPlatform(wanted, `${config.os}/${config.architecture}`);
  if (config.rootfs.diff_ids.length !== manifest.layers.length)
    throw badImage("manifest and configuration name different numbers of layers");
  return config;
}

export const sha256 = (bytes: Uint8Array | string): string => `sha256:${new Bun.CryptoHasher("sha256").update(bytes).digest("hex")}`;
