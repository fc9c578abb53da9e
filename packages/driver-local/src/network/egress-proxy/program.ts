import { join } from "node:path";
import { executableBuild, PROGRAM } from "@boxyard/core";

/** Path of the egress proxy's program beside the server's. Defined by `tools/lib/bundles.ts`, and not in a checkout. */
declare const BOXYARD_EGRESS_PROXY: string | undefined;

/** The command of the egress proxy, in a checkout, in a bundle and in the executable. */
export function egressProxyCommand(config: string): string[] {
  const source = () => join(import.meta.dir, "../../../../egress-proxy/src/main.ts");
  if (executableBuild !== undefined) return [process.execPath, PROGRAM.egressProxy, config];
  return [process.execPath, typeof BOXYARD_EGRESS_PROXY === "undefined" ? source() : BOXYARD_EGRESS_PROXY, config];
}
