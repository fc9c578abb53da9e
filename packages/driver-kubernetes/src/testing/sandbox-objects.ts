import { labelsOf, podOf } from "../manifest.ts";
import { policyOf, sharedPolicies } from "../network-policy.ts";
import type { ClusterObject } from "./chart.ts";
import { specOf } from "./subject.ts";

/** One of each kind of objects that the driver makes. */
export function sandboxObjects(): ClusterObject[] {
  const spec = { ...specOf(), network: { internetAccess: true, denyOut: ["9.9.9.9"] } };
  const pod = podOf(spec, "image:1", { instance: "i", guestImage: "guest:1", runtimeClass: "gvisor", pullSecrets: ["pull"] });
  const server = { podSelector: { matchLabels: { "app.kubernetes.io/name": "boxyard" } } };
  const shared = sharedPolicies("i", [server]).map(({ policy }) => policy);
  return [pod, policyOf(spec, "i", labelsOf("i", spec)), ...shared] as ClusterObject[];
}

/** False for an object of a resource that only clusters with an operator have: the API's document says nothing of it. */
export const isOfTheApi = ({ apiVersion }: Pick<ClusterObject, "apiVersion">): boolean => !apiVersion.startsWith("monitoring.coreos.com/");
