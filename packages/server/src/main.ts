import { run } from "./verbs/index.ts";

/* Verbs: serve, setup, doctor, release, base-archive, uninstall. The machine is chosen here. */

/** Each driver's modules are loaded only where it is the one. */
const machine = async () => {
  const { BOXYARD_DRIVER: driver = "" } = process.env;
  if (driver === "kubernetes") return (await import("./cluster-machine.ts")).clusterMachine();
  if (driver !== "" && driver !== "local") throw new Error(`BOXYARD_DRIVER='${driver}' is neither local nor kubernetes`);
  return (await import("./local-machine.ts")).localMachine();
};

// No await at the top level, which the CommonJS bundle of the tests cannot have.
void machine()
  .then((chosen) => run(process.argv.slice(2), chosen))
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  })
  .then((exitCode) => {
    process.exitCode = exitCode;
    // The verb has ended. Timers and sockets that a failed start has left open must not keep the process running.
    setTimeout(() => process.exit(), 1000).unref();
  });
