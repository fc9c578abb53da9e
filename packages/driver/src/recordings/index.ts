export { freeForOthers, hasRoom, usualReserve } from "./disk-room.ts";
export * from "./exchange.ts";
export { FIRST_LINE } from "./frames.ts";
export * from "./recording-reader.ts";
export * from "./recording-writer.ts";
