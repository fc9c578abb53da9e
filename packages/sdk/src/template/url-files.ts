import { createHash } from "node:crypto";
import { createWriteStream, statSync } from "node:fs";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidArgumentError } from "../errors.ts";
import type { SentSource } from "./context-files.ts";
import type { ContextEntry } from "./copy-source.ts";

/** What an ADD of addresses takes: a file from each, fetched by this program. */
export interface UrlSources {
  readonly urls: readonly string[];
  /** SHA-256 that the one file must have. */
  readonly sha256?: string | undefined;
}

const FETCH_LIMIT_MS = 600_000;
const MAX_BYTES = 4 * 2 ** 30;

/**
 * Fetches the files into a directory, as what is to be copied; they are readable by their owner only, as builders of images have it.
 *
 * @throws InvalidArgumentError with reason `add_failed` or `add_checksum`.
 */
export async function urlEntries(
  { urls, sha256 }: UrlSources,
  directory: string,
  signal: AbortSignal | undefined,
): Promise<{ entries: ContextEntry[]; sent: SentSource[] }> {
  const entries: ContextEntry[] = [];
  for (const url of urls) {
    const name = nameOf(url);
    const absolute = join(directory, String(entries.length));
    const digest = await fetchTo(url, absolute, signal);
    if (sha256 !== undefined && digest !== sha256) {
      throw refusal(`${url} has the checksum sha256:${digest}, not sha256:${sha256}`, "add_checksum");
    }
    entries.push({ path: name, absolute, kind: "file", mode: 0o100600, size: statSync(absolute).size, target: "" });
  }
  return { entries, sent: entries.map(({ path }) => ({ path, name: path })) };
}

/** The name of the file that an address leads to: the last part of its path. */
function nameOf(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  if (name === "" || name === "." || name === ".." || name.includes("/")) throw refusal(`${url} names no file`, "add_failed");
  return name;
}

async function fetchTo(url: string, path: string, signal: AbortSignal | undefined): Promise<string> {
  const limit = AbortSignal.timeout(FETCH_LIMIT_MS);
  const hash = createHash("sha256");
  let bytes = 0;
  const meter = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      hash.update(chunk);
      done(bytes > MAX_BYTES ? new Error(`it is larger than ${MAX_BYTES} bytes`) : null, chunk);
    },
  });
  try {
    const response = await fetch(url, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
    if (!response.ok || !response.body) throw new Error(`the server answers ${response.status}`);
    await pipeline(Readable.fromWeb(response.body as unknown as Parameters<typeof Readable.fromWeb>[0]), meter, createWriteStream(path));
  } catch (error) {
    signal?.throwIfAborted();
    throw refusal(`${url} cannot be fetched: ${error instanceof Error ? error.message : String(error)}`, "add_failed", error);
  }
  return hash.digest("hex");
}

function refusal(message: string, reason: string, cause?: unknown): InvalidArgumentError {
  return new InvalidArgumentError(message, { code: "invalid_argument", reason, ...(cause === undefined ? {} : { cause }) });
}
