import type { ApiAccess } from "../api/access.ts";
import type { Right } from "../fingerprint.ts";
import type { Pod } from "../pod.ts";

/** An API server of the tests' own, with pods in memory. It knows no accounts, starts nothing, and tells the changes of pods to every watch. */
export interface FakeApi {
  readonly access: ApiAccess;
  /** Calls of objects, as rights name them, with their queries. */
  readonly calls: readonly { readonly right: Right; readonly query: Readonly<Record<string, string>> }[];
  readonly pods: Map<string, Pod>;
  /** The state of pods whose gate was opened. */
  started: NonNullable<Pod["status"]>;
  /** Tells a pod as it is now, or that it is gone. */
  tell(type: "ADDED" | "MODIFIED" | "DELETED", pod: Pod): void;
  stop(): Promise<void>;
}

const NODE = "node-1";
const READY_NODE = {
  metadata: { name: NODE },
  status: {
    allocatable: { memory: "8Gi", "ephemeral-storage": "100Gi", pods: "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
};
/** A version, and a review of an account's own rights: every account may ask for these, so no role names them. */
const FOR_EVERYBODY: Readonly<Record<string, object>> = {
  "/version": { gitVersion: "v1.36.3" },
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": { status: { allowed: true } },
};
const PATH = /^\/apis?\/(?:([a-z0-9-]+(?:\.[a-z0-9-]+)+)\/)?v\d\w*\/(?:namespaces\/([^/]+)\/)?([a-z]+)(?:\/([^/]+))?(?:\/([a-z]+))?/;

/** What an account must be allowed for a call. */
function rightOf(method: string, url: URL): { readonly right: Right; readonly name: string } {
  const [, group = "", namespace, kind = "", name = "", part] = PATH.exec(url.pathname) ?? [];
  const reading = name !== "" ? "get" : url.searchParams.get("watch") === "true" ? "watch" : "list";
  const verb = { GET: reading, POST: "create", PATCH: "patch", DELETE: "delete" }[method] ?? method;
  const resource = part === undefined ? kind : `${kind}/${part}`;
  return { right: { verb, group, resource, ...(namespace === undefined && { clusterWide: true as const }) }, name };
}

export function fakeApi(): FakeApi {
  const calls: { right: Right; query: Record<string, string> }[] = [];
  const pods = new Map<string, Pod>();
  const watchers = new Set<ReadableStreamDefaultController<string>>();
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });

  async function answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const open = FOR_EVERYBODY[url.pathname];
    if (open) return Response.json(open);
    const { right, name } = rightOf(request.method, url);
    calls.push({ right, query: Object.fromEntries(url.searchParams) });
    const { verb, resource } = right;
    if (verb === "watch") return new Response(watchOf(request, resource === "pods"));
    if (resource === "nodes") return Response.json({ metadata: { resourceVersion: "1" }, items: [READY_NODE] });
    if (resource === "nodes/proxy") return Response.json({ pods: [...pods.values()].map(statsOf) });
    if (resource === "pods/resize") return Response.json(resized(name, (await request.json()) as Pod));
    if (resource !== "pods") return Response.json({ metadata: {}, items: [] });
    if (verb === "list") return Response.json({ metadata: { resourceVersion: "1" }, items: [...pods.values()] });
    const body = verb === "get" ? undefined : ((await request.json()) as Partial<Pod>);
    const pod = verb === "create" ? created(body as Pod) : pods.get(name);
    if (!pod) return Response.json({ reason: "NotFound" }, { status: 404 });
    if (verb === "create") pods.set(pod.metadata.name, pod);
    if (verb === "delete") pods.delete(name);
    if (verb === "patch") pods.set(name, patched(pod, body ?? {}, fake.started));
    const type = { create: "ADDED", delete: "DELETED", patch: "MODIFIED" } as const;
    const now = pods.get(pod.metadata.name) ?? pod;
    if (verb in type) tell(type[verb as keyof typeof type], now);
    return Response.json(now);
  }

  /** Its kubelet gives it the limits at once. */
  function resized(name: string, { spec }: Pod): object {
    const pod = pods.get(name);
    const [{ resources = {} } = {}] = spec.containers as { resources?: { limits?: Record<string, string> } }[];
    if (!pod) return { reason: "NotFound" };
    const next = { ...pod, status: { ...pod.status, containerStatuses: [{ state: { running: {} }, resources }] } };
    pods.set(name, next);
    tell("MODIFIED", next);
    return next;
  }

  /** Lasts until the client ends it. Only pods change. */
  function watchOf(request: Request, changes: boolean): ReadableStream<string> {
    return new ReadableStream<string>({
      start(watcher) {
        if (!changes) return;
        watchers.add(watcher);
        request.signal.addEventListener("abort", () => watchers.delete(watcher));
      },
    });
  }

  function tell(type: string, object: Pod): void {
    for (const watcher of watchers) watcher.enqueue(`${JSON.stringify({ type, object })}\n`);
  }

  const fake: FakeApi = {
    access: { server: `http://127.0.0.1:${server.port}` },
    calls,
    pods,
    started: { phase: "Running", podIP: "127.0.0.1", containerStatuses: [{ state: { running: {} } }] },
    tell,
    stop: () => server.stop(true),
  };
  return fake;
}

const created = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, uid: crypto.randomUUID() }, status: { phase: "Pending" } });

function patched(pod: Pod, { spec, metadata }: Partial<Pod>, started: NonNullable<Pod["status"]>): Pod {
  const opens = spec?.schedulingGates !== undefined;
  const annotations = { ...pod.metadata.annotations, ...metadata?.annotations };
  return {
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, ...spec, ...(opens && { nodeName: NODE }) },
    ...(pod.status && { status: pod.status }),
    ...(opens && { status: started }),
  };
}

const statsOf = ({ metadata: { name, uid } }: Pod) => ({
  podRef: { name, uid, namespace: "default" },
  cpu: { usageCoreNanoSeconds: 5e9 },
  memory: { usageBytes: 2 ** 20, workingSetBytes: 2 ** 20 },
});
