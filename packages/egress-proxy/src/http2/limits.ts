import { MAX_HEAD_BYTES } from "@boxyard/http1";

/** Streams that a client may have open at once on one connection; more are refused, to be sent again. */
export const MAX_STREAMS = 100;
/** What may wait here for one connection of what its other side does not take: the sender stops then. */
const WINDOW_BYTES = 256 << 10;

/**
 * Settings of both sides. The library bounds the rest, and ends a connection that goes beyond: streams that are begun and reset (a thousand at once, a few
 * dozens a second after that), heads that go on in more and more frames, questions and settings that nobody needs.
 */
export const SETTINGS = { maxHeaderListSize: MAX_HEAD_BYTES, initialWindowSize: WINDOW_BYTES, enablePush: false } as const;
