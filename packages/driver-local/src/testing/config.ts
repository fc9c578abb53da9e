/** An emulated machine (tools/pure-v2). */
export const EMULATED = Boolean(process.env.BOXYARD_TEST_EMULATED);
/** Factor for time limits: an emulated machine is slower by an order of magnitude. 1 elsewhere. */
export const SLOWNESS = EMULATED ? 15 : 1;
/** Directory in which the test files of one run share a prepared pool (`prepared-pool.ts`); undefined for a file that runs by itself. */
export const PREPARED_POOL = process.env.BOXYARD_TEST_POOL || undefined;
