import { AppError } from "@boxyard/core";

/** Where an image is: `registry/repository[:tag][@digest]`. */
export interface ImageReference {
  /** Host with port, as written. */
  readonly registry: string;
  readonly repository: string;
  /** Set unless there is a digest alone. */
  readonly tag?: string;
  readonly digest?: string;
}

export interface ReferenceDefaults {
  /**
   * `HOST[:PORT][/PREFIX]` in place of Docker Hub, for names without a registry and for names of Docker Hub. Names of one component get the prefix.
   * If the prefix ends with `library`, as for a mirror of all of Docker Hub, other names get the part before `library`.
   */
  readonly registry?: string;
  /** True: names without a registry are refused, unless `registry` is set. For pushes, which must not go to a default registry by mistake. */
  readonly isExplicit?: boolean;
}

/** The registry of names without a registry. */
export const DOCKER_HUB = "docker.io";
const DOCKER_HUB_NAMES = new Set([DOCKER_HUB, `index.${DOCKER_HUB}`]);

/** The host of a registry's API: Docker Hub's is not its name. */
export const hostOf = (registry: string): string => (registry === DOCKER_HUB ? `registry-1.${DOCKER_HUB}` : registry);

const HOST = /^(localhost|\[[0-9a-fA-F:]+\]|[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+|[a-zA-Z0-9-]+(?=:))(:\d{1,5})?$/;
/** distribution-spec, "Pulling manifests". */
const REPOSITORY = /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
export const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MAX_LENGTH = 512;

const refused = (text: string, why: string) =>
  new AppError("invalid_argument", `Invalid image reference '${text.slice(0, 200)}': ${why}`, { reason: "invalid_image_reference" });

/** Parses the name of an image. Throws `invalid_argument`, reason `invalid_image_reference`. */
export function parseImageReference(text: string, defaults: ReferenceDefaults = {}): ImageReference {
  if (text.length > MAX_LENGTH) throw refused(text, "it is too long");
  const [before = "", digest, ...more] = text.trim().split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) throw refused(text, "the digest is not sha256:<64 hex digits>");
  const { registry, path } = splitRegistry(text, before, defaults);
  const colon = path.lastIndexOf(":");
  const repository = colon < 0 ? path : path.slice(0, colon);
  const tag = colon < 0 ? undefined : path.slice(colon + 1);
  if (!REPOSITORY.test(repository)) throw refused(text, "the name may hold lower-case letters, digits, single . _ - and slashes");
  if (tag !== undefined && !TAG.test(tag)) throw refused(text, "the tag may hold letters, digits, . _ - and at most 128 of them");
  const named = tag ?? (digest === undefined ? "latest" : undefined);
  return { registry, repository, ...(named !== undefined && { tag: named }), ...(digest !== undefined && { digest }) };
}

function splitRegistry(text: string, name: string, defaults: ReferenceDefaults): { registry: string; path: string } {
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  if (DOCKER_HUB_NAMES.has(first)) return onHub(name.slice(slash + 1), defaults);
  if (first !== "" && (first === "localhost" || /[.:[]/.test(first))) {
    if (!HOST.test(first)) throw refused(text, `'${first.slice(0, 100)}' is not a host`);
    return { registry: first, path: name.slice(slash + 1) };
  }
  if (defaults.isExplicit && defaults.registry === undefined) throw refused(text, "it names no registry; write HOST/NAME");
  return onHub(name, defaults);
}

/** Where an image of Docker Hub is looked for. */
function onHub(name: string, { registry: hub = `${DOCKER_HUB}/library` }: ReferenceDefaults): { registry: string; path: string } {
  const [registry = "", ...prefix] = hub.split("/");
  if (name.includes("/")) prefix.length = prefix.at(-1) === "library" ? prefix.length - 1 : 0;
  return { registry, path: [...prefix, name].join("/") };
}

/** The name by which a registry is asked for the manifest. */
export const manifestName = ({ tag, digest }: ImageReference): string => digest ?? tag ?? "latest";

export function formatReference({ registry, repository, tag, digest }: ImageReference): string {
  return `${registry}/${repository}${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
}
