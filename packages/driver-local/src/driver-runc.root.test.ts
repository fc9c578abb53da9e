import { EMULATED } from "./testing/config.ts";
import { localDriverContract } from "./testing/contract.ts";

/**
 * Under emulation, where a sandbox costs much, only what meets the runtime: the driver asks it to create, start and forget a sandbox (a pause of the
 * disk alone asks for no more, and there is no CRIU for memory). The whole contract runs there with crun, and with runc on the host's kernel.
 */
const suites = EMULATED ? (["runtime"] as const) : (["runtime", "network", "snapshots", "checkpoint"] as const);

localDriverContract({ runtime: "runc", lingerMs: 60_000, suites });
