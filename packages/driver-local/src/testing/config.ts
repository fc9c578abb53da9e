/** How much longer things may take: an emulated machine (tools/pure-v2) is slower by an order of magnitude. 1 elsewhere. */
export const SLOWNESS = process.env.BOXYARD_TEST_EMULATED ? 15 : 1;
/** Where the files of one test run keep a set-up pool for one another (`prepared-pool.ts`); undefined for a file by itself. */
export const PREPARED_POOL = process.env.BOXYARD_TEST_POOL || undefined;
