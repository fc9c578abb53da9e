/* How long, and for how many bytes, a client is waited for. */

/** Longest wait for the next request of a kept connection; longer than clients keep one. */
export const IDLE_MS = 620_000;
/** The same before `trust` was called. */
export const UNTRUSTED_IDLE_MS = 15_000;
/** Longest time for the client to read the rest of a complete answer, after which the connection ends. */
export const STALL_MS = 120_000;
/** Longest time from the first byte of a head to its last. */
export const HEAD_MS = 15_000;
/** Bytes and time for reading and dropping the rest of a request that was answered before its body ended. */
export const MAX_DISCARD_BYTES = 64 << 20;
export const DISCARD_MS = 30_000;
