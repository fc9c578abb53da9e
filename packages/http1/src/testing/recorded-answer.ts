import { type BodyScanner, ChunkedDecoder, scannerFor } from "../body.ts";
import type { ResponseHead } from "../head.ts";
import { ResponseReader } from "../response-reader.ts";

/** An answer as our parser reads it. */
export interface SeenAnswer {
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
  body: string;
  complete: boolean;
}

const MAX_INTERIM = 32;

/** Parses the pieces of a connection and its end as answers to a request of `method`, interim ones included; undefined when they are refused. */
export function recordAnswer(pieces: readonly Buffer[], method: string): readonly SeenAnswer[] | undefined {
  const seen: SeenAnswer[] = [];
  const reader = new ResponseReader();
  let scanner: BodyScanner | undefined;
  let decoder: ChunkedDecoder | undefined;
  let isUntilEnd = false;
  const begin = (head: ResponseHead) => {
    const { status, fields, framing } = head;
    const answer = { status, fields: fields.lower.map((name, i) => [name, fields.value(i)] as const), body: "", complete: false };
    seen.push(answer);
    answer.complete = status < 200;
    if (status < 200) return;
    scanner = scannerFor(framing);
    decoder = framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
    isUntilEnd = framing.kind === "close";
    answer.complete = scanner.done;
  };
  const take = (bytes: Buffer): void => {
    if (bytes.byteLength === 0) return;
    if (!scanner) {
      const head = reader.read(bytes, method);
      if (!head) return;
      if (head.status === 101) throw new Error("an upgrade without a request for it");
      if (seen.length > MAX_INTERIM) throw new Error("too many interim answers");
      begin(head);
      take(reader.rest);
      return;
    }
    if (scanner.done) return;
    const answer = seen.at(-1) as SeenAnswer;
    const body = bytes.subarray(0, scanner.take(bytes, 0));
    answer.body += (decoder ? decoder.push(body) : body).toString("latin1");
    answer.complete = scanner.done;
  };
  try {
    for (const piece of pieces) take(Buffer.from(piece));
  } catch {
    return undefined;
  }
  const last = seen.at(-1);
  if (last && isUntilEnd) last.complete = true;
  return seen;
}
