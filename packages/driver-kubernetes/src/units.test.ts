import { expect, test } from "bun:test";
import { BLOCKED_NETWORKS } from "@boxyard/core";
import { parseRange } from "@boxyard/driver";
import { blocksOf, checkExpressible, egressKind, policyOf } from "./network-policy.ts";
import { exitOf, phaseOf } from "./phase.ts";
import type { Pod } from "./pod.ts";
import { quantity } from "./quantity.ts";
import { specOf } from "./testing/subject.ts";

test("quantities of the API are numbers", () => {
  const texts = ["512Mi", "250m", "2", "1e3", "16Gi", "3k", undefined, "lots"];
  expect(texts.map(quantity)).toEqual([512 * 2 ** 20, 0.25, 2, 1000, 16 * 2 ** 30, 3000, 0, 0]);
});

test("a range is the fewest networks", () => {
  const range = (from: string, to: string) => ({ first: parseRange(from)?.first ?? 0, last: parseRange(to)?.last ?? 0 });
  expect(blocksOf(range("10.0.0.0", "10.0.0.255"))).toEqual(["10.0.0.0/24"]);
  expect(blocksOf(range("10.0.0.1", "10.0.0.4"))).toEqual(["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]);
  expect(blocksOf(range("0.0.0.0", "255.255.255.255"))).toEqual(["0.0.0.0/0"]);
  expect(blocksOf(range("255.255.255.255", "255.255.255.255"))).toEqual(["255.255.255.255/32"]);
});

interface Policy {
  readonly spec: { readonly egress: readonly { readonly to?: readonly { readonly ipBlock: { readonly cidr: string } }[] }[] };
}

const networksOf = (network: Parameters<typeof egressKind>[0]) =>
  (policyOf({ ...specOf(), network }, "i", {}) as Policy).spec.egress.flatMap(({ to = [] }) => to.map(({ ipBlock }) => ipBlock.cidr));

test("the policy of a sandbox has what its lists permit, and nothing that is closed to all", () => {
  expect(networksOf({ internetAccess: false, allowOut: ["9.9.9.9", "10.1.2.3"] })).toEqual(["9.9.9.9/32"]);
  const open = networksOf({ internetAccess: true, denyOut: ["9.9.9.9"] }).map((cidr) => parseRange(cidr));
  const isOpen = (address: string) => {
    const { first = -1 } = parseRange(address) ?? {};
    return open.some((range) => range !== undefined && range.first <= first && first <= range.last);
  };
  expect(["9.9.9.8", "9.9.9.10", "1.1.1.1"].map(isOpen)).toEqual([true, true, true]);
  const closed = ["9.9.9.9", ...BLOCKED_NETWORKS.map((network) => network.split("/")[0] ?? "")];
  expect(closed.filter(isOpen)).toEqual([]);
});

test("names of hosts are refused, and the kinds of policies told apart", () => {
  expect(() => checkExpressible({ internetAccess: false, allowOut: ["a.example"] })).toThrow("names of hosts");
  const proxy = { protocol: "socks5" as const, host: "a.example", port: 1 };
  for (const edge of [{ hosts: [{ host: "a.example", headers: {} }] }, { hosts: [], proxy }])
    expect(() => checkExpressible({ internetAccess: true, edge })).toThrow("rules, secrets and recordings");
  expect([{ internetAccess: true }, { internetAccess: false }, { internetAccess: true, denyOut: ["1.1.1.1"] }].map(egressKind)).toEqual([
    "internet",
    "none",
    "listed",
  ]);
});

const pod = (status: Pod["status"], metadata: Partial<Pod["metadata"]> = {}): Pod => ({
  metadata: { name: "p", uid: "u", ...metadata },
  spec: { containers: [] },
  ...(status && { status }),
});
const ended = (reason: string) => ({ phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 137, reason } } }] });

test("phase and end of a pod, in the driver's words", () => {
  expect(phaseOf(pod(undefined))).toBe("created");
  expect(phaseOf(pod({ phase: "Pending" }))).toBe("created");
  expect(phaseOf(pod({ phase: "Running", containerStatuses: [{ state: { running: {} } }] }))).toBe("running");
  expect(phaseOf(pod(ended("Error")))).toBe("stopped");
  expect(exitOf(pod(ended("Error"))).reason).toBe("agent_exited");
  expect(exitOf(pod(ended("OOMKilled"))).reason).toBe("out_of_memory");
  const evicted = (message: string) => exitOf(pod({ phase: "Failed", reason: "Evicted", message })).reason;
  expect(evicted("The node was low on resource: memory.")).toBe("evicted");
  expect(evicted("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.")).toBe("out_of_disk");
  expect(exitOf(pod(ended("Error"), { annotations: { "boxyard.dev/ended-by": "SIGKILL" } })).reason).toBe("killed");
  expect(exitOf(pod({ phase: "Failed", reason: "NodeShutdown" })).reason).toBe("node_lost");
});

test("a pod that the cluster has given up has ended, and says why", () => {
  const running = { phase: "Running", containerStatuses: [{ state: { running: {} } }] };
  const given = (reason: string, metadata: Partial<Pod["metadata"]> = { deletionTimestamp: "2026-01-01T00:00:00Z" }) =>
    pod({ ...running, conditions: [{ type: "DisruptionTarget", status: "True", reason }] }, metadata);
  const found = ["DeletionByTaintManager", "DeletionByPodGC", "EvictionByEvictionAPI", "PreemptionByScheduler"].map((reason) => {
    const one = given(reason);
    return [phaseOf(one), exitOf(one).reason];
  });
  const [lost, moved] = [
    ["stopped", "node_lost"],
    ["running", "evicted"],
  ];
  expect(found).toEqual([lost, lost, moved, moved] as typeof found);
  // It may still be let off until it is deleted.
  expect(phaseOf(given("DeletionByTaintManager", {}))).toBe("running");
  expect(exitOf(pod(running, { deletionTimestamp: "2026-01-01T00:00:00Z" })).reason).toBe("killed");
});
