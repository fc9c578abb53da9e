import { expect, test } from "bun:test";
import { openKubernetesDriver } from "./driver.ts";
import { RIGHTS, type Right } from "./fingerprint.ts";
import { type ClusterObject, fileOf, objectsOf, only, RENDERED, renderedChart } from "./testing/chart.ts";
import { fakeApi } from "./testing/fake-api.ts";
import { SMALL, specOf } from "./testing/subject.ts";

const never = new AbortController().signal;
const textOf = ({ verb, group, resource, clusterWide }: Right) =>
  `${clusterWide ? "cluster" : "namespace"}: ${verb} ${resource}${group && `.${group}`}`;
const textsOf = (rights: readonly Right[]) => [...new Set(rights.map(textOf))].toSorted();

/** A role as RBAC has it. */
interface Rules {
  readonly rules: readonly { readonly apiGroups: string[]; readonly resources: string[]; readonly verbs: string[] }[];
}

/** What the roles among some objects allow. */
function allowedBy(objects: readonly ClusterObject[]): Right[] {
  const roles = ["Role", "ClusterRole"].map((kind) => only(objects, kind) as ClusterObject & Rules);
  return roles.flatMap(({ kind, rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => ({ verb, group, resource, ...(kind === "ClusterRole" && { clusterWide: true as const }) })),
        ),
      ),
    ),
  );
}

test("the rights are those that the driver's calls need, and no others", async () => {
  const api = fakeApi();
  const config = { access: api.access, namespace: "default", instance: "rights", guestImage: "guest:1", logger: { warn: () => {} } };
  const driver = await openKubernetesDriver({ ...config, imageOf: (digest) => (digest === SMALL ? "small:1" : undefined) });
  try {
    expect((await driver.fingerprint()).checks.map(({ status }) => status)).toEqual(["ok", "ok"]);
    await driver.capacity();
    const listed = await driver.create({ ...specOf(), network: { internetAccess: true, denyOut: ["9.9.9.9"] } }, never);
    // Its processes end before the agent answers, so the failed start removes it.
    api.started = { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 1 } } }] };
    await expect(driver.start(listed, never)).rejects.toThrow("did not start");
    expect([...api.pods.keys()]).toEqual([]);
    const handle = await driver.create(specOf(), never);
    const [[name, pod] = []] = api.pods;
    if (name === undefined || pod === undefined) throw new Error("there is no pod");
    const running = { phase: "Running", podIP: "127.0.0.1", containerStatuses: [{ state: { running: {} } }] };
    api.pods.set(name, { ...pod, spec: { ...pod.spec, nodeName: "node-1", schedulingGates: [] }, status: running });
    expect((await driver.stats(handle)).cpuUsageUsec).toBe(5e6);
    expect((await driver.cpuTimes([handle])).size).toBe(1);
    const { resources } = await driver.keptSpec(handle);
    await driver.resize(handle, { ...resources, cpuCount: 2 });
    await driver.relabel(handle, { team: "t" });
    expect(await driver.keptSpec(handle)).toMatchObject({ labels: { team: "t" }, resources: { cpuCount: 2 } });
    await driver.signal(handle, "SIGKILL");
    expect(await driver.list()).toEqual([handle]);
    await driver.destroy(handle);
  } finally {
    await driver.close();
    await api.stop();
  }
  expect(textsOf(api.calls.map(({ right }) => right))).toEqual(textsOf(RIGHTS));
});

test.each(RENDERED)("the roles of the chart (%s) allow the rights, and nothing else, to the account of the servers", (name) => {
  const objects = renderedChart(name);
  expect(textsOf(allowedBy(objects))).toEqual(textsOf(RIGHTS));
  const account = only(objects, "ServiceAccount").metadata.name;
  for (const kind of ["Role", "ClusterRole"]) {
    const binding = only(objects, `${kind}Binding`);
    expect(binding.roleRef).toEqual({ apiGroup: "rbac.authorization.k8s.io", kind, name: only(objects, kind).metadata.name });
    expect(binding.subjects).toEqual([{ kind: "ServiceAccount", name: account, namespace: "boxyard" }]);
  }
});

test("the roles of docs/kubernetes.md are those of the chart", () => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(fileOf("docs/kubernetes.md")) ?? [];
  expect(textsOf(allowedBy(objectsOf(yaml)))).toEqual(textsOf(RIGHTS));
});
