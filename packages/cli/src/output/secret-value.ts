import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { AppError } from "@boxyard/core";
import { usageError } from "../errors.ts";
import { canAsk } from "./confirm.ts";

/** More than the server takes, so that it is the server that says what is too long. */
const MAX_BYTES = 1 << 20;

/**
 * The value of a secret: what standard input has, without a newline at its end, or what a person types, which is not shown. It is never an argument.
 * Throws `canceled` after Ctrl-C.
 */
export async function readSecretValue(name: string, { signal }: { readonly signal: AbortSignal }): Promise<string> {
  const value = canAsk() ? await ask(`Value of ${name}: `, signal) : withoutNewline(await readInput());
  if (value === "") throw usageError("the value is empty: give it on standard input");
  return value;
}

const withoutNewline = (text: string): string => text.replace(/\r?\n$/, "");

async function readInput(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw usageError("the value is too long: a secret has at most 64 KiB");
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usageError("the value is no text (UTF-8): encode it first, for example with base64");
  }
}

async function ask(question: string, signal: AbortSignal): Promise<string> {
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nothing, terminal: true });
  const stop = new AbortController();
  lines.once("SIGINT", () => stop.abort());
  process.stderr.write(question);
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, stop.signal]) });
  } catch (cause) {
    throw new AppError("canceled", "nothing has been stored", { reason: "not_confirmed", cause });
  } finally {
    lines.close();
    process.stderr.write("\n");
  }
}
