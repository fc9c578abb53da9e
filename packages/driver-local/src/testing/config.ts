/** How much longer things may take: an emulated machine (tools/pure-v2) is slower by an order of magnitude. 1 elsewhere. */
export const SLOWNESS = process.env.BOXYARD_TEST_EMULATED ? 15 : 1;
