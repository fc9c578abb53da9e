import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { AppError } from "@boxyard/core";

/** How to reach the API server of a cluster. */
export interface ApiAccess {
  /** `https://HOST:PORT`, without a path. */
  readonly server: string;
  /** PEM of the authority that has signed the server's certificate; absent: the machine's own. */
  readonly ca?: string;
  /** PEM of a client's certificate and key. */
  readonly cert?: string;
  readonly key?: string;
  /** Gives the bearer token. Called for each request: the token of a service account changes while the server runs. */
  readonly token?: () => string;
}

/** Where Kubernetes puts the account of a pod. */
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The access of the pod that this process runs in; undefined outside of a cluster. */
export function accessInCluster({
  host,
  port,
}: {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
}): ApiAccess | undefined {
  if (!host || !port) return undefined;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: readFileSync(`${ACCOUNT}/ca.crt`, "utf8"),
    token: () => readFileSync(`${ACCOUNT}/token`, "utf8").trim(),
  };
}

interface Kubeconfig {
  readonly "current-context"?: string;
  readonly contexts?: readonly { readonly name: string; readonly context: { readonly cluster: string; readonly user: string } }[];
  readonly clusters?: readonly { readonly name: string; readonly cluster: Readonly<Record<string, unknown>> }[];
  readonly users?: readonly { readonly name: string; readonly user: Readonly<Record<string, unknown>> }[];
}

/**
 * The access of a kubeconfig file's current context: certificates and tokens, in the file or in files beside it. Throws `invalid_argument`, reason
 * `bad_kubeconfig`, for a file that cannot be read, that has no such context, or whose user needs a program (`exec`).
 */
export function accessOfKubeconfig(path: string): ApiAccess {
  const bad = (why: string, cause?: unknown) =>
    new AppError("invalid_argument", `The kubeconfig ${path} cannot be used: ${why}`, { reason: "bad_kubeconfig", cause });
  let config: Kubeconfig;
  try {
    config = (Bun.YAML.parse(readFileSync(path, "utf8")) ?? {}) as Kubeconfig;
  } catch (error) {
    throw bad(error instanceof Error ? error.message : String(error), error);
  }
  const context = config.contexts?.find(({ name }) => name === config["current-context"])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users?.find(({ name }) => name === context?.user)?.user ?? {};
  if (typeof cluster?.server !== "string") throw bad("its current context names no cluster with a server");
  if (user.exec !== undefined || user["auth-provider"] !== undefined) {
    throw bad("its user needs a program to sign in; give the server a service account's token");
  }
  const beside = (name: unknown) => readFileSync(resolve(dirname(path), String(name)), "utf8");
  const pem = (of: Readonly<Record<string, unknown>>, name: string): string | undefined => {
    if (of[`${name}-data`] !== undefined) return Buffer.from(String(of[`${name}-data`]), "base64").toString();
    return of[name] === undefined ? undefined : beside(of[name]);
  };
  try {
    const [ca, cert, key] = [pem(cluster, "certificate-authority"), pem(user, "client-certificate"), pem(user, "client-key")];
    const { token, tokenFile } = user;
    return {
      server: cluster.server.replace(/\/+$/, ""),
      ...(ca && { ca }),
      ...(cert && key && { cert, key }),
      ...(typeof token === "string" && { token: () => token }),
      ...(token === undefined && tokenFile !== undefined && { token: () => beside(tokenFile).trim() }),
    };
  } catch (error) {
    throw bad(error instanceof Error ? error.message : String(error), error);
  }
}
