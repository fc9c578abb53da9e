import { localMachine } from "./local-machine.ts";
import { run } from "./verbs/index.ts";

/* Verbs: serve, setup, doctor, release, base-archive, uninstall. The machine is chosen here. */

process.exitCode = await run(process.argv.slice(2), localMachine());

// The verb has ended. Timers and sockets that a failed start has left open must not keep the process running.
setTimeout(() => process.exit(), 1000).unref();
