import { localMachine } from "./local-machine.ts";
import { run } from "./verbs/index.ts";

/* Verbs: serve, setup, doctor, release, base-archive, uninstall. The machine is chosen here. */

// No await at the top level, which the CommonJS bundle of the tests cannot have.
void run(process.argv.slice(2), localMachine()).then((exitCode) => {
  process.exitCode = exitCode;
  // The verb has ended. Timers and sockets that a failed start has left open must not keep the process running.
  setTimeout(() => process.exit(), 1000).unref();
});
