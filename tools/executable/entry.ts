/* Where the single executable begins: as the command line client or, with a hidden first argument, as another of our programs. */
import { PROGRAM } from "@boxyard/core";

/** So that each program finds its arguments where they are in a checkout. */
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
  default:
    await import("@boxyard/cli/main");
}
