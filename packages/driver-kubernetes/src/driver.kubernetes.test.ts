import { driverContract } from "@boxyard/driver/contract-suite";
import { makeSubject } from "./testing/subject.ts";
import { testCluster } from "./testing/test-cluster.ts";

// Pods are neither images nor layers: the server has those.
driverContract("kubernetes", () => makeSubject(testCluster()), [
  "processes",
  "records",
  "network",
  "snapshots",
  "volumes",
  "volumeMounts",
  "checkpoint",
]);
