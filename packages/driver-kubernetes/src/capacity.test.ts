import { expect, test } from "bun:test";
import { FakeClock, systemClock } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { KubeApi } from "./api/client.ts";
import { ClusterCapacity } from "./capacity.ts";
import type { Pod } from "./pod.ts";
import { fakeApi } from "./testing/fake-api.ts";

const GIB = 2 ** 30;

const pod = (uid: string, memory: string, nodeName?: string) => ({
  metadata: { name: uid, uid },
  spec: { containers: [{ resources: { requests: { memory } } }], ...(nodeName && { nodeName }) },
});

test("an account follows the pods of the cluster, and takes no call", async () => {
  const api = fakeApi();
  api.pods.set("a", pod("a", "1Gi", "node-1") as Pod);
  // On a node that takes none of this server's pods.
  api.pods.set("b", pod("b", "1Gi", "node-2") as Pod);
  const capacity = new ClusterCapacity(new KubeApi(api.access, systemClock), { clock: systemClock, logger: { warn: () => {} } });
  try {
    capacity.start();
    expect((await capacity.get()).memoryFreeBytes).toBe(7 * GIB);
    await eventually("both watches are open", () => api.calls.filter(({ right }) => right.verb === "watch").length === 2);
    const calls = api.calls.length;
    // It counts from the answer of its create on, once.
    capacity.add(pod("c", "2Gi"));
    expect(await capacity.get()).toMatchObject({ memoryFreeBytes: 5 * GIB, processesFree: 108 * 256 });
    api.tell("ADDED", pod("c", "2Gi") as Pod);
    api.tell("MODIFIED", pod("a", "3Gi", "node-1") as Pod);
    await eventually("the change has come", async () => (await capacity.get()).memoryFreeBytes === 3 * GIB);
    capacity.remove("c");
    expect((await capacity.get()).memoryFreeBytes).toBe(5 * GIB);
    api.tell("DELETED", pod("a", "3Gi", "node-1") as Pod);
    await eventually("it is gone", async () => (await capacity.get()).memoryFreeBytes === 8 * GIB);
    expect(api.calls.length).toBe(calls);
  } finally {
    await capacity.stop();
    await api.stop();
  }
});

test("a watch that the API server should have ended long ago is replaced: its connection has died unnoticed", async () => {
  const api = fakeApi();
  const clock = new FakeClock();
  const capacity = new ClusterCapacity(new KubeApi(api.access, systemClock), { clock, logger: { warn: () => {} } });
  const watches = () => api.calls.filter(({ right }) => right.verb === "watch").length;
  try {
    capacity.start();
    await eventually("both watches are open", () => watches() === 2);
    api.pods.set("a", pod("a", "1Gi", "node-1") as Pod);
    await eventually("both are opened again", async () => {
      await clock.advance(270_000);
      return watches() >= 4;
    });
    await eventually("the change has come", async () => (await capacity.get()).memoryFreeBytes === 7 * GIB);
  } finally {
    await capacity.stop();
    await api.stop();
  }
});

test("a cluster that tells nothing has no account", async () => {
  const clock = { ...systemClock, sleep: async () => {} };
  const capacity = new ClusterCapacity(new KubeApi({ server: "http://127.0.0.1:1" }, systemClock), { clock, logger: { warn: () => {} } });
  expect(await capacity.get().catch(({ reason }) => reason)).toBe("cluster_unavailable");
});
