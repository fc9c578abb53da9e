import type { FileHandle } from "node:fs/promises";
import { VERSION } from "@boxyard/core";
import { type RecordedBody, readBody, readRecording } from "@boxyard/driver/recordings";
import { entryOf } from "./har-entry.ts";

/** Bytes that base64 encodes without a rest. */
const GROUP = 3;

/** A recording as an archive of exchanges (HAR 1.2), piece by piece: no body is ever in memory as a whole. */
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
    const { before, between, after } = entryOf(exchange);
    yield Buffer.from(`${isFirst ? "" : ","}\n${before}`);
    isFirst = false;
    yield* inBase64(file, exchange.body);
    yield Buffer.from(between);
    yield* inBase64(file, exchange.answer);
    yield Buffer.from(after);
  }
  yield Buffer.from(`\n]${incomplete}}}\n`);
}

async function* inBase64(file: FileHandle, body: RecordedBody): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of readBody(file, body)) {
    const all = Buffer.concat([rest, piece]);
    const whole = all.byteLength - (all.byteLength % GROUP);
    rest = all.subarray(whole);
    yield Buffer.from(all.toString("base64", 0, whole));
  }
  if (rest.byteLength > 0) yield Buffer.from(rest.toString("base64"));
}
