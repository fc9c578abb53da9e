import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import type { SandboxSpec } from "@boxyard/driver";
import type { ContractSubject } from "@boxyard/driver/contract-suite";
import { eventually } from "@boxyard/testkit";
import { accessOfKubeconfig } from "./api/access.ts";
import { KubeApi } from "./api/client.ts";
import { nameOf } from "./names.ts";
import { callAgent } from "./testing/call-agent.ts";
import { makeSubject, specOf } from "./testing/subject.ts";
import { testCluster } from "./testing/test-cluster.ts";

/** Why sandboxes end that nobody asked to end. */
const LIMIT_MS = 180_000;
const never = new AbortController().signal;

let subject: ContractSubject;
beforeAll(async () => {
  subject = await makeSubject(testCluster());
}, LIMIT_MS);
afterAll(() => subject?.dispose(), LIMIT_MS);

async function boot(spec: SandboxSpec) {
  const { driver } = subject;
  const handle = await driver.create(spec, never);
  await driver.start(handle, never);
  return { handle, ended: driver.wait(handle, never) };
}

test(
  "a pod that is drained from its node, and one that writes more than its disk has, end and say why",
  async () => {
    const { driver } = subject;
    const small = { ...specOf(), resources: { ...specOf().resources, diskBytes: 8 * 2 ** 20 } };
    const [drained, full] = await Promise.all([boot(specOf()), boot(small)]);
    await callAgent(driver, full.handle, "/bin/busybox dd if=/dev/zero of=/big bs=1048576 count=24 2>/dev/null");
    const api = new KubeApi(accessOfKubeconfig(testCluster().kubeconfig), systemClock);
    const name = nameOf(drained.handle.sandboxId);
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: "default" } };
    await api.post(`/api/v1/namespaces/default/pods/${name}/eviction`, eviction);
    expect((await drained.ended).reason).toBe("evicted");
    expect((await full.ended).reason).toBe("out_of_disk");
    for (const { handle } of [drained, full]) await driver.destroy(handle);
  },
  LIMIT_MS,
);

/** A node of which there is only the object: nobody runs its pods, and nobody confirms their end. */
async function makeGhost(api: KubeApi): Promise<void> {
  const room = { cpu: "4", memory: "4Gi", "ephemeral-storage": "10Gi", pods: "10" };
  await api.post("/api/v1/nodes", { metadata: { name: GHOST, labels: { ghost: "yes" } } });
  const conditions = [{ type: "Ready", status: "True", reason: "Ghost", lastHeartbeatTime: new Date().toISOString() }];
  await api.patch(`/api/v1/nodes/${GHOST}/status`, { status: { allocatable: room, capacity: room, conditions } });
}

const GHOST = "ghost";

test(
  "a pod whose node is lost ends with the reason, and its object goes without the node's word",
  async () => {
    const { driver } = subject;
    const api = new KubeApi(accessOfKubeconfig(testCluster().kubeconfig), systemClock);
    try {
      await makeGhost(api);
      const spec = specOf();
      const handle = await driver.create(spec, never);
      const pod = `/api/v1/namespaces/default/pods/${nameOf(spec.sandboxId)}`;
      await api.patch(pod, { spec: { nodeSelector: { ghost: "yes" } } });
      const starting = driver.start(handle, never).catch(({ reason }) => reason);
      await eventually("it is on the node", async () => (await api.get<Placed>(pod)).spec.nodeName === GHOST, { withinMs: 60_000 });
      const ended = driver.wait(handle, never);
      await api.patch(`/api/v1/nodes/${GHOST}`, { spec: { taints: [{ key: "lost", effect: "NoExecute" }] } });
      expect((await ended).reason).toBe("node_lost");
      // The start fails with it, and removes what nobody else does.
      expect(await starting).toBe("pod_not_started");
      expect(await driver.list()).toEqual([]);
    } finally {
      await api.delete(`/api/v1/nodes/${GHOST}`, {});
    }
  },
  LIMIT_MS,
);

interface Placed {
  readonly spec: { readonly nodeName?: string };
}
