import type { Fingerprint, FingerprintCheck } from "@boxyard/driver";
import type { KubeApi } from "./api/client.ts";
import type { KubernetesDriverConfig } from "./config.ts";

/** What an account may do: with one kind of objects in a namespace, or in the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With the part of the object after a slash, if it is one: `nodes/proxy`. */
  readonly resource: string;
  readonly clusterWide?: true;
}

/** What the server needs in its namespace and in the cluster: no more than it calls (`rights.test.ts`). docs/kubernetes.md and the chart give it. */
export const RIGHTS: readonly Right[] = [
  ...["create", "get", "list", "watch", "patch", "delete"].map((verb) => ({ verb, group: "", resource: "pods" })),
  { verb: "patch", group: "", resource: "pods/resize" },
  ...["create", "list", "patch", "delete"].map((verb) => ({ verb, group: "networking.k8s.io", resource: "networkpolicies" })),
  ...["nodes", "pods"].flatMap((resource) => ["list", "watch"].map((verb) => ({ verb, group: "", resource, clusterWide: true as const }))),
  { verb: "get", group: "", resource: "nodes/proxy", clusterWide: true },
];

/** What this cluster supports, and how to get what is missing. */
export async function fingerprintOf(api: KubeApi, { namespace }: KubernetesDriverConfig): Promise<Fingerprint> {
  const version = await api.get<{ readonly gitVersion: string }>("/version").catch((error: unknown) => error as Error);
  if (version instanceof Error) {
    const fix = "Check the server's kubeconfig, or its service account, and the way to the API server";
    return { checks: [{ name: "cluster", status: "fail", found: version.message, fix }] };
  }
  const rights = await Promise.all(RIGHTS.map((right) => mayDo(api, namespace, right)));
  const missing = RIGHTS.filter((_, index) => !rights[index]).map(({ verb, resource }) => `${verb} ${resource}`);
  return { checks: [{ name: "cluster", status: "ok", found: `Kubernetes ${version.gitVersion}` }, rightsCheck(missing, namespace)] };
}

function rightsCheck(missing: readonly string[], namespace: string): FingerprintCheck {
  if (missing.length === 0) return { name: "rights", status: "ok", found: `The server may do everything it needs in ${namespace}` };
  return {
    name: "rights",
    status: "fail",
    found: `The server may not: ${missing.join(", ")}`,
    fix: "Give its account the rights of docs/kubernetes.md; the chart deploy/chart does",
  };
}

async function mayDo(api: KubeApi, namespace: string, { verb, group, resource, clusterWide }: Right): Promise<boolean> {
  const [name, subresource] = resource.split("/");
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { verb, group, resource: name, ...(subresource && { subresource }), ...(!clusterWide && { namespace }) } },
  };
  const { status } = await api.post<{ readonly status?: { readonly allowed?: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    review,
  );
  return status?.allowed === true;
}
