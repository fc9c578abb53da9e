import { EMULATED } from "./testing/config.ts";
import { localDriverContract } from "./testing/contract.ts";

/**
 * Under emulation, where a sandbox with runc takes seconds of CPU time, only the tests whose subject is what the runtime's program does: it starts and
 * ends processes (a pause of the disk alone asks for no more, and there is no CRIU for memory). The whole contract runs there with crun, and with runc
 * on the host's kernel.
 */
const suites = EMULATED
  ? (["processes"] as const)
  : (["processes", "records", "network", "snapshots", "volumeMounts", "checkpoint"] as const);

localDriverContract({ runtime: "runc", lingerMs: 60_000, suites });
