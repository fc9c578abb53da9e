/*
 * Makes the prepared pool of the guest: `bun tools/pure-v2/make-pool.ts DIRECTORY`, with `BOXYARD_DATA` and `BOXYARD_CACHE` as in set-up. It runs on
 * this machine, because it would take a minute of CPU time under emulation. Run it in a mount namespace of its own, so that no mount is left when it
 * is killed.
 */
import { makePreparedPool, readSetupConfig } from "@boxyard/driver-local/setup";

const directory = process.argv[2];
if (directory === undefined) throw new Error("usage: make-pool.ts DIRECTORY");
await makePreparedPool(readSetupConfig(), directory);
