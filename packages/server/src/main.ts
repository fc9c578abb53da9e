import { localMachine } from "./local-machine.ts";
import { run } from "./verbs/index.ts";

/* Verbs: serve, setup, doctor, release, base-archive, uninstall. The machine is chosen here. */

process.exitCode = await run(process.argv.slice(2), localMachine());

// All is said and done: what a failed start has left open (timers, sockets) must not keep the process from ending.
setTimeout(() => process.exit(), 1000).unref();
