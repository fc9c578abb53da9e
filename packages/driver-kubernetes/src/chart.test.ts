import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readClusterConfig } from "./environment/config.ts";
import { podOf } from "./manifest.ts";
import { refusals, type Schemas } from "./testing/api-schema.ts";
import { type ClusterObject, fileOf, filesOf, only, RENDERED, renderedChart } from "./testing/chart.ts";
import { podSecurityExceptions, type SecuredPod } from "./testing/pod-security.ts";
import { isOfTheApi, sandboxObjects } from "./testing/sandbox-objects.ts";
import { specOf } from "./testing/subject.ts";

/* deploy/chart as helm has rendered it (deploy/render.sh). helm is on few machines, so what it made is in the repository. */

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly volumeMounts: readonly { readonly name: string }[];
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
}

interface Workload {
  readonly replicas: number;
  readonly strategy: { readonly type: string };
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: SecuredPod & { readonly containers: readonly [Container]; readonly initContainers: readonly Container[] };
  };
}

const workload = (objects: readonly ClusterObject[]) => only(objects, "Deployment").spec as Workload;
const serverOf = (objects: readonly ClusterObject[]) => workload(objects).template.spec.containers[0];
/** The variables with values, as the kubelet gives them; those from elsewhere have the name of their kind of place. */
const envOf = (objects: readonly ClusterObject[]) =>
  Object.fromEntries(serverOf(objects).env.map(({ name, value, valueFrom }) => [name, value ?? Object.keys(valueFrom ?? {})[0] ?? ""]));

test("the rendered objects are those of the chart as it is", () => {
  const sums = [...filesOf("deploy/chart"), ...filesOf("deploy/values")].map(
    (path) => `${createHash("sha256").update(fileOf(path)).digest("hex")}  ${path.replace("deploy/", "")}\n`,
  );
  const sum = createHash("sha256").update(sums.join("")).digest("hex");
  for (const name of RENDERED) expect(fileOf(`deploy/rendered/${name}.yaml`).split("\n")[0]).toContain(sum);
});

/** Of the OpenAPI document of Kubernetes (`testing/write-api-schemas.ts`). */
const schemas = JSON.parse(fileOf("packages/driver-kubernetes/src/testing/generated/api-schemas.json")) as Schemas;
const refused = (object: ClusterObject) => refusals(schemas, object);

test.each(RENDERED)("every object (%s) is as the API's schemas say, and has the labels of the chart", (name) => {
  for (const object of renderedChart(name)) {
    if (isOfTheApi(object)) expect({ [object.kind]: refused(object) }).toEqual({ [object.kind]: [] });
    expect(object.metadata.labels).toMatchObject({ "app.kubernetes.io/name": "boxyard", "app.kubernetes.io/instance": "boxyard" });
  }
});

test("what the driver makes is as the API's schemas say, and what is not is found", () => {
  expect(sandboxObjects().flatMap(refused)).toEqual([]);
  const pod = sandboxObjects()[0] as ClusterObject & { readonly spec: object };
  expect(refused({ ...pod, spec: { ...pod.spec, hostUser: false } })).toEqual(["Pod.spec.hostUser is not known"]);
  expect(refused({ ...pod, spec: { ...pod.spec, hostUsers: "no" } })).toEqual(["Pod.spec.hostUsers is no boolean"]);
  expect(refused({ ...pod, spec: {} })).toEqual(["Pod.spec.containers is missing"]);
});

test.each(RENDERED)("every volume, Secret and port that the server (%s) uses is there", (name) => {
  const objects = renderedChart(name);
  const { spec, metadata } = workload(objects).template;
  const volumes = (spec.volumes ?? []).map((volume) => volume.name);
  expect([
    ...new Set([...spec.initContainers, ...spec.containers].flatMap(({ volumeMounts }) => volumeMounts.map((mount) => mount.name))),
  ]).toEqual(expect.arrayContaining(volumes));
  for (const kind of ["Service", "Deployment"]) {
    const { selector } = only(objects, kind).spec as { selector: Record<string, unknown> };
    expect(metadata.labels).toMatchObject(kind === "Service" ? selector : workload(objects).selector.matchLabels);
  }
  // The NetworkPolicy of all sandboxes lets pods with this label in.
  expect(metadata.labels).toMatchObject({ "app.kubernetes.io/name": "boxyard" });
});

test("one server has a volume for its store, several have a database, a budget and each its own address", () => {
  const [one, several] = [renderedChart("one"), renderedChart("several")];
  expect([workload(one).replicas, workload(several).replicas]).toEqual([1, 3]);
  expect([one, several].map((objects) => workload(objects).strategy.type)).toEqual(["Recreate", "Recreate"]);
  const kinds = (objects: readonly ClusterObject[]) => objects.map(({ kind }) => kind);
  expect(kinds(one)).toContain("PersistentVolumeClaim");
  expect(kinds(one)).not.toContain("PodDisruptionBudget");
  expect(kinds(several)).not.toContain("PersistentVolumeClaim");
  expect(only(several, "PodDisruptionBudget").spec).toMatchObject({ maxUnavailable: 1 });
  expect(envOf(several)).toMatchObject({ DATABASE_URL: "secretKeyRef", POD_IP: "fieldRef", BOXYARD_REPLICA_ADDRESS: "$(POD_IP):3000" });
  expect(Object.keys(envOf(one))).not.toContain("BOXYARD_REPLICA_ADDRESS");
  // A server in waiting is ready: it passes requests on. A single one is ready when it answers itself.
  expect([one, several].map((objects) => serverOf(objects).readinessProbe.httpGet.path)).toEqual(["/health", "/replica"]);
});

test("the chart makes keys unless it is given a Secret, and Prometheus reads the metrics with one of them", () => {
  const made = only(renderedChart("one"), "Secret") as ClusterObject & { readonly data: object };
  expect(Object.keys(made.data).toSorted()).toEqual(["admin-token", "api-key", "store-key"]);
  expect(made.metadata).toMatchObject({ name: "boxyard-keys", annotations: { "helm.sh/resource-policy": "keep" } });
  const several = renderedChart("several");
  expect(several.map(({ kind }) => kind)).not.toContain("Secret");
  expect(only(several, "ServiceMonitor").spec).toMatchObject({
    endpoints: [{ path: "/metrics", authorization: { credentials: { name: "boxyard-secrets", key: "api-key" } } }],
  });
});

test("the driver takes the settings of the chart", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-chart-"));
  const path = join(directory, "kubeconfig");
  const cluster = {
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443" } }],
    contexts: [{ name: "c", context: { cluster: "c" } }],
  };
  writeFileSync(path, JSON.stringify({ "current-context": "c", ...cluster }));
  const settingsOf = (name: (typeof RENDERED)[number]) =>
    readClusterConfig({ ...envOf(renderedChart(name)), BOXYARD_KUBERNETES_NAMESPACE: "boxyard", BOXYARD_KUBECONFIG: path });
  try {
    const same = { instance: "boxyard", guestImage: "registry.example/boxyard-guest:0.1.0", pullPolicy: "IfNotPresent", hostUsers: false };
    expect(settingsOf("one")).toMatchObject(same);
    expect(settingsOf("several")).toMatchObject({ ...same, pullSecrets: ["pull"], runtimeClass: "gvisor" });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test.each(RENDERED)("the server's pod (%s) is 'restricted' without an exception", (name) => {
  expect(podSecurityExceptions(workload(renderedChart(name)).template.spec)).toEqual([]);
});

test("a sandbox's pod is 'restricted' but for what docs/kubernetes.md lists", () => {
  const { spec } = podOf(specOf(), "image:1", { instance: "i", guestImage: "guest:1" }) as { spec: SecuredPod };
  expect(spec.hostUsers).toBe(false);
  const documented = [...fileOf("docs/kubernetes.md").matchAll(/^\| exception: ([^|]+?) +\|/gm)].map((match) => match[1] ?? "");
  expect(documented.toSorted()).toEqual(podSecurityExceptions(spec).toSorted());
});

test("what is not 'restricted' is found", () => {
  const container = { name: "c", securityContext: { privileged: true, runAsUser: 0, capabilities: { add: ["SYS_ADMIN", "CHOWN"] } } };
  expect(podSecurityExceptions({ hostPID: true, containers: [container], volumes: [{ name: "v", hostPath: {} }] })).toEqual([
    "hostPID, beyond baseline",
    "volume of type hostPath, beyond baseline",
    "privileged, beyond baseline",
    "allowPrivilegeEscalation",
    "runs as root",
    "capabilities are not dropped",
    "no seccomp profile",
    "capabilities CHOWN",
    "capabilities SYS_ADMIN, beyond baseline",
  ]);
});
