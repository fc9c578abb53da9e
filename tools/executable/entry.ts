/* Entry of the single executable: it is the command line client or, with an internal first argument, the server, the layer worker or the egress proxy. */
import { PROGRAM } from "@boxyard/core";

/** Removes the internal argument, so that each program finds its arguments at the same index as in a checkout. */
function withoutFirstArgument(): void {
  process.argv.splice(2, 1);
}

switch (process.argv[2]) {
  case PROGRAM.server:
    withoutFirstArgument();
    await import("@boxyard/server/main");
    break;
  case PROGRAM.layerWorker:
    withoutFirstArgument();
    await import("@boxyard/driver-local/layer-worker");
    break;
  case PROGRAM.egressProxy:
    withoutFirstArgument();
    await import("@boxyard/egress-proxy/main");
    break;
  default:
    await import("@boxyard/cli/main");
}
