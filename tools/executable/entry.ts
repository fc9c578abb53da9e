/* Where the single executable begins: as the command line client or, with the hidden first argument, as the server's program. */
import { SERVER_ARGUMENT } from "@boxyard/core";

if (process.argv[2] === SERVER_ARGUMENT) {
  process.argv.splice(2, 1);
  await import("@boxyard/server/main");
} else {
  await import("@boxyard/cli/main");
}
