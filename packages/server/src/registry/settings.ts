import { type ConfigFile, MEDIA, machinePlatform, sha256 } from "./manifest.ts";

/** How an image wants to be run (image-spec, config). */
export interface ImageSettings {
  /** `name`, `uid`, `name:group` or `uid:gid`; "" is root. */
  readonly user: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** The shell of instructions in shell form; empty: the default shell. */
  readonly shell: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly exposedPorts: readonly string[];
  readonly stopSignal: string;
  /** Instructions that a Dockerfile with this image in FROM runs first (ONBUILD). */
  readonly onBuild?: readonly string[];
}

/** The settings in a configuration. Entries of `Env` without a `=` are ignored. */
export function settingsOf({ config }: ConfigFile): ImageSettings {
  const env = (config?.Env ?? []).filter((entry) => entry.indexOf("=") > 0);
  return {
    user: config?.User ?? "",
    workdir: config?.WorkingDir ?? "",
    env: Object.fromEntries(env.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)])),
    entrypoint: config?.Entrypoint ?? [],
    cmd: config?.Cmd ?? [],
    shell: config?.Shell ?? [],
    labels: config?.Labels ?? {},
    exposedPorts: Object.keys(config?.ExposedPorts ?? {}),
    stopSignal: config?.StopSignal ?? "",
    ...(config?.OnBuild?.length ? { onBuild: config.OnBuild } : {}),
  };
}

/** An image on this machine. `layers`: diff ids, lowest first. */
export interface ImageFacts {
  readonly layers: readonly string[];
  readonly settings: ImageSettings;
  /** Milliseconds since 1970. Without it, equal images have equal digests whenever they are made. */
  readonly createdAt?: number;
}

/** The configuration document of an image. Equal images give equal bytes. */
export function configBytes({ layers, settings, createdAt }: ImageFacts): Uint8Array {
  const { user, workdir, env, entrypoint, cmd, shell, labels, exposedPorts, stopSignal, onBuild } = settings;
  const config = {
    ...(user && { User: user }),
    ...(exposedPorts.length > 0 && { ExposedPorts: Object.fromEntries(exposedPorts.map((port) => [port, {}])) }),
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...(entrypoint.length > 0 && { Entrypoint: entrypoint }),
    ...(cmd.length > 0 && { Cmd: cmd }),
    ...(workdir && { WorkingDir: workdir }),
    ...(Object.keys(labels).length > 0 && { Labels: labels }),
    ...(stopSignal && { StopSignal: stopSignal }),
    ...(onBuild && onBuild.length > 0 && { OnBuild: onBuild }),
    ...(shell.length > 0 && { Shell: shell }),
  };
  const created = createdAt === undefined ? {} : { created: new Date(createdAt).toISOString() };
  return new TextEncoder().encode(
    JSON.stringify({ ...created, ...machinePlatform(), config, rootfs: { type: "layers", diff_ids: layers } }),
  );
}

export interface LayerBlob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The manifest of a configuration and the blobs of its layers. */
export function manifestBytes(config: Uint8Array, layers: readonly LayerBlob[]): Uint8Array {
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: { mediaType: MEDIA.config, digest: sha256(config), size: config.length },
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
  };
  return new TextEncoder().encode(JSON.stringify(manifest));
}

/** The digest that names an image on this machine: the digest of its manifest with uncompressed layers. `sizes`: of the layers' tars. */
export function imageDigest(image: ImageFacts, sizes: readonly number[]): string {
  const layers = image.layers.map((digest, i) => ({ mediaType: MEDIA.layer, digest, size: sizes[i] ?? 0 }));
  return sha256(manifestBytes(configBytes(image), layers));
}
