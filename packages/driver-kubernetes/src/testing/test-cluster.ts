import { join } from "node:path";
import { clusterDirectory } from "./config.ts";
import { SMALL, type TestCluster } from "./subject.ts";

/** The cluster that `./boxyard test kubernetes` has started. */
export function testCluster(): TestCluster {
  const directory = clusterDirectory();
  if (directory === undefined) throw new Error("there is no test cluster: run ./boxyard test kubernetes");
  return {
    kubeconfig: join(directory, "pki/admin.kubeconfig"),
    image: `localhost/boxyard/small:${SMALL.replace("sha256:", "")}`,
    guestImage: "localhost/boxyard/guest:1",
  };
}
