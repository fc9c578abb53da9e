import { AppError } from "@boxyard/core";
import { type ApiAccess, accessInCluster, accessOfKubeconfig } from "../api/access.ts";
import { DEFAULTS, type KubernetesDriverConfig } from "../config.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type FromEnvironment = Omit<KubernetesDriverConfig, "logger">;

const LABEL = /^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/;
const PULL_POLICIES = ["Always", "IfNotPresent", "Never"] as const;

const wrong = (name: string, what: string) => new AppError("invalid_argument", `${name} ${what}`, { reason: "invalid_setting" });

/**
 * The driver's settings from the variables `BOXYARD_KUBECONFIG` and `BOXYARD_KUBERNETES_…` (docs/configuration.md). Throws `invalid_argument`, reason
 * `invalid_setting`, with the variable's name.
 */
export function readClusterConfig(env: Environment = process.env): FromEnvironment {
  const { BOXYARD_KUBERNETES_IMAGE: image, BOXYARD_KUBERNETES_GUEST_IMAGE: guestImage } = env;
  if (!image || !/\{(digest|hex)\}/.test(image)) throw wrong("BOXYARD_KUBERNETES_IMAGE", "must be a reference with {digest} or {hex}");
  if (!guestImage) throw wrong("BOXYARD_KUBERNETES_GUEST_IMAGE", "must name the image with the guest bundle");
  const pullSecrets = (env.BOXYARD_KUBERNETES_PULL_SECRETS ?? "").split(",").flatMap((name) => name.trim() || []);
  return {
    access: accessOf(env),
    namespace: labelOf(env, "BOXYARD_KUBERNETES_NAMESPACE"),
    instance: labelOf(env, "BOXYARD_KUBERNETES_INSTANCE"),
    imageOf: (digest) => image.replace("{digest}", digest).replace("{hex}", digest.replace(/^sha256:/, "")),
    guestImage,
    pullPolicy: oneOf(env, "BOXYARD_KUBERNETES_PULL_POLICY", PULL_POLICIES, "IfNotPresent"),
    hostUsers: oneOf(env, "BOXYARD_KUBERNETES_HOST_USERS", ["on", "off"], "off") === "on",
    cpuRequest: partOf(env, "BOXYARD_KUBERNETES_CPU_REQUEST", DEFAULTS.cpuRequest),
    ...(pullSecrets.length > 0 && { pullSecrets }),
    ...(env.BOXYARD_KUBERNETES_RUNTIME_CLASS && { runtimeClass: env.BOXYARD_KUBERNETES_RUNTIME_CLASS }),
  };
}

function accessOf({ BOXYARD_KUBECONFIG: path, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }: Environment): ApiAccess {
  const access = path ? accessOfKubeconfig(path) : accessInCluster({ host, port });
  if (access) return access;
  throw wrong("BOXYARD_KUBECONFIG", "must name a kubeconfig: this process runs in no pod of a cluster");
}

function labelOf(env: Environment, name: string): string {
  const value = env[name] || "boxyard";
  if (LABEL.test(value)) return value;
  throw wrong(name, `'${value}' is not a DNS label of at most 42 characters`);
}

function partOf(env: Environment, name: string, standard: number): number {
  const value = Number(env[name] || standard);
  if (value > 0 && value <= 1) return value;
  throw wrong(name, `'${env[name]}' is not a number above 0 and at most 1`);
}

function oneOf<T extends string>(env: Environment, name: string, values: readonly T[], standard: T): T {
  const value = values.find((known) => known === (env[name] || standard));
  if (value !== undefined) return value;
  throw wrong(name, `'${env[name]}' is none of ${values.join(", ")}`);
}
