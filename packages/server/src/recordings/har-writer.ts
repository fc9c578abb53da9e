import type { FileHandle } from "node:fs/promises";
import { VERSION } from "@boxyard/core";
import { readBody, readRecording } from "@boxyard/driver/recordings";
import { entryOf } from "./har-entry.ts";

/** Longest body of a request in memory; longer ones are cut off in the archive. */
const MAX_SENT = 64 << 20;
/** Bytes that base64 encodes without a rest. */
const GROUP = 3;

/** A recording as an archive of exchanges (HAR 1.2), piece by piece: one answer's content is never in memory as a whole. */
export async function* writeHar(file: FileHandle): AsyncGenerator<Uint8Array> {
  const creator = JSON.stringify({ name: "boxyard", version: VERSION });
  yield Buffer.from(`{"log":{"version":"1.2","creator":${creator},"entries":[`);
  let isFirst = true;
  let incomplete = "";
  for await (const one of readRecording(file)) {
    if (one.kind === "stopped") {
      incomplete = `,"comment":"incomplete: ${one.reason}"`;
      continue;
    }
    const { exchange } = one;
    const sent: Buffer[] = [];
    let sentBytes = 0;
    for await (const piece of readBody(file, exchange.body)) {
      sentBytes += piece.byteLength;
      if (sentBytes <= MAX_SENT) sent.push(piece);
    }
    const { before, after } = entryOf(exchange, Buffer.concat(sent));
    yield Buffer.from(`${isFirst ? "" : ","}\n${before}`);
    isFirst = false;
    let rest: Buffer = Buffer.alloc(0);
    for await (const piece of readBody(file, exchange.answer)) {
      const all = Buffer.concat([rest, piece]);
      const whole = all.byteLength - (all.byteLength % GROUP);
      rest = all.subarray(whole);
      yield Buffer.from(all.toString("base64", 0, whole));
    }
    yield Buffer.from(rest.toString("base64") + after);
  }
  yield Buffer.from(`\n]${incomplete}}}\n`);
}
