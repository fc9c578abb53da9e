import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, eventually } from "@boxyard/testkit";
import { type Place, Relay } from "../../tools/kubernetes/relay.ts";
import { NODE_ADDRESS } from "../../tools/kubernetes/settings.ts";
import { asAdministrator } from "./pods-server.ts";

const NAMESPACE = "chart";
const NAME = "boxyard";
const HTTP = 3000;
/** How often the addresses of the servers are asked for. */
const LOOK_MS = 250;

interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
}

interface ServerPod extends Item {
  readonly status: { readonly podIP?: string; readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface Slice {
  readonly endpoints?: readonly { readonly addresses: readonly string[]; readonly conditions: { readonly ready?: boolean } }[];
}

/** What a Secret of the release has. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

const inNamespace = (group: string, what: string) => `/${group}/namespaces/${NAMESPACE}/${what}`;

/** What helm has made of the chart with deploy/values/test.yaml, installed into a namespace of its own, and a way to its Service. */
export class ChartRelease implements AsyncDisposable {
  private readonly service: Relay;
  private readonly places: Place[];
  private readonly looking: Timer;

  private constructor(service: Relay, places: Place[], looking: Timer) {
    this.service = service;
    this.places = places;
    this.looking = looking;
  }

  /** Resolves when all servers are available. */
  static async install(secrets: Secrets): Promise<ChartRelease> {
    await asAdministrator("POST", "/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    for (const [name, stringData] of Object.entries(secrets))
      await asAdministrator("POST", inNamespace("api/v1", "secrets"), { metadata: { name }, stringData });
    // Names of what belongs to no namespace have that of the release.
    const rendered = readFileSync(join(CHECKOUT, "deploy/rendered/test.yaml"), "utf8")
      .replaceAll(`namespace: ${NAME}`, `namespace: ${NAMESPACE}`)
      .replaceAll(`name: ${NAME}-${NAME}`, `name: ${NAME}-${NAMESPACE}`);
    for (const text of rendered.split(/^---$/m)) {
      const object = Bun.YAML.parse(text) as Item | null;
      if (object) await create(object);
    }
    // No kube-proxy is there: this has the part of the Service, with the addresses that the cluster gives it.
    const places: Place[] = [];
    let turn = 0;
    const service = await Relay.open({ host: "127.0.0.1", port: 0 }, () => places[turn++ % Math.max(1, places.length)]);
    const look = async () => {
      const path = `${inNamespace("apis/discovery.k8s.io/v1", "endpointslices")}?labelSelector=kubernetes.io/service-name%3D${NAME}`;
      const { items } = await asAdministrator<{ items: readonly Slice[] }>("GET", path);
      const ready = items.flatMap(({ endpoints = [] }) => endpoints.filter(({ conditions }) => conditions.ready === true));
      places.splice(0, places.length, ...ready.flatMap(({ addresses }) => addresses.map((host) => ({ host, port: HTTP }))));
    };
    // Without the API server the Service stays as it is.
    const looking = setInterval(() => void look().catch(() => {}), LOOK_MS);
    const release = new ChartRelease(service, places, looking);
    await release.settled();
    return release;
  }

  /** Where clients reach the servers. */
  get url(): string {
    return `http://127.0.0.1:${this.service.port}`;
  }

  /** Resolves when all servers serve, and one of them owns the sandboxes; gives that one's pod. */
  settled(): Promise<ServerPod> {
    return eventually(
      "all servers serve, and one owns",
      async () => {
        const pods = await this.pods();
        const roles = (await Promise.all(pods.map(roleOf))).map((answer) => answer?.role);
        const owner = pods[roles.indexOf("owner")];
        return pods.length === 2 && this.places.length === 2 && roles.includes("standby") && owner;
      },
      { withinMs: 90_000, everyMs: 200 },
    );
  }

  /** The epoch of the owner. */
  async epoch(): Promise<number> {
    const answers = await Promise.all((await this.pods()).map(roleOf));
    return Math.max(0, ...answers.map((answer) => answer?.epoch ?? 0));
  }

  async pods(): Promise<readonly ServerPod[]> {
    const path = `${inNamespace("api/v1", "pods")}?labelSelector=app.kubernetes.io/name%3D${NAME}`;
    return (await asAdministrator<{ items: readonly ServerPod[] }>("GET", path)).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.looking);
    this.service.close();
    await asAdministrator("DELETE", `/api/v1/namespaces/${NAMESPACE}`).catch(() => {});
  }
}

async function create(object: Item): Promise<void> {
  const group = object.apiVersion.includes("/") ? `apis/${object.apiVersion}` : `api/${object.apiVersion}`;
  const plural = `${object.kind.toLowerCase()}s`;
  await asAdministrator("POST", object.kind.startsWith("Cluster") ? `/${group}/${plural}` : inNamespace(group, plural), object);
}

async function roleOf({ status }: ServerPod): Promise<{ readonly role: string; readonly epoch: number } | undefined> {
  if (!status.podIP) return undefined;
  const answer = await fetch(`http://${status.podIP}:${HTTP}/replica`, { signal: AbortSignal.timeout(2000) }).catch(() => undefined);
  return answer?.ok ? ((await answer.json()) as { role: string; epoch: number }) : undefined;
}

/** The address at which pods reach a port of the test, and the ports beside it. */
export const OF_THE_TEST: Place = { host: NODE_ADDRESS, port: 15_432 };

/** The process of a pod's server: of all in the pod's cgroups, the one with the server's program. */
export function serverProcessOf({ metadata }: ServerPod): number {
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const isOfPod = readFileSync(`/proc/${entry}/cgroup`, "utf8").includes(`pod${metadata.uid}`);
      if (isOfPod && readFileSync(`/proc/${entry}/cmdline`, "utf8").startsWith("/usr/bin/boxyard\0")) return Number(entry);
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error(`pod ${metadata.name} has no process of a server`);
}
