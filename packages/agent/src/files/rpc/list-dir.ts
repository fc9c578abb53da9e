import { readdir, stat } from "node:fs";
import { AppError } from "@boxyard/core";
import { type EntryInfo, EntryInfoTable } from "@boxyard/spec/agent";
import type { BodyClaim } from "../../body/budget.ts";
import { EncodedMessage, type Users } from "../../contracts.ts";
import { encodeMessage } from "../../rpc/codec.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";
import { EntryReader } from "./entry-info.ts";

/** Text gathered before it is turned into bytes. */
const PIECE_CHARS = 64 * 1024;
const encoder = new TextEncoder();
/** Stands in a name for bytes that are no text. */
const REPLACED = "\ufffd";

// Not `node:fs/promises`: loading it costs 1.5 ms at every start of the agent.

function isDirectory(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => stat(path, (error, found) => (error ? reject(error) : resolve(found.isDirectory()))));
}

/** A name as text; with its bytes when the text is not all of it. */
interface Name {
  readonly text: string;
  readonly bytes?: Buffer;
}

/** Names in lexical order; none when the directory is gone or no longer one. */
async function namesIn(path: string): Promise<Name[]> {
  const texts = await new Promise<string[]>((resolve) => readdir(path, (error, names) => resolve(error ? [] : names)));
  if (!texts.some((text) => text.includes(REPLACED))) return texts.sort().map((text) => ({ text }));
  const raw = await new Promise<Buffer[]>((resolve) =>
    readdir(path, { encoding: "buffer" }, (error, names) => resolve(error ? [] : names)),
  );
  const names = raw.map((bytes) => {
    const text = bytes.toString();
    return bytes.equals(Buffer.from(text)) ? { text } : { text, bytes };
  });
  return names.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
}

async function checkDirectory(path: string): Promise<void> {
  try {
    if (await isDirectory(path)) return;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "ENOENT") throw new AppError("not_found", `path not found: ${path}`, { reason: "not_found", cause: error });
    if (errno === "ELOOP")
      throw new AppError("failed_precondition", `too many symbolic links: ${path}`, { reason: "link_loop", cause: error });
    throw fileError(`list '${path}'`, error);
  }
  throw new AppError("invalid_argument", `path is not a directory: ${path}`, { reason: "not_a_directory" });
}

export interface Listing {
  readonly users: Users;
  readonly path: string;
  /** How many levels; 0 counts as 1. */
  readonly depth: number;
  /** Ends it with its reason. */
  readonly signal: AbortSignal;
  readonly present: (entry: EntryInfo) => EntryInfo;
}

/**
 * The entries below a directory, each directory before its content, in lexical order, told one by one. Links are listed and not descended,
 * but the path itself may be one. What vanishes meanwhile is left out. Throws `failed_precondition` for more entries than one answer can hold.
 */
async function listDir({ users, path, depth, signal }: Listing, onEntry: (entry: EntryInfo) => Promise<void> | undefined): Promise<void> {
  await checkDirectory(path);
  const reader = new EntryReader(users);
  const slice = new TimeSlice();
  let count = 0;
  const walk = async (dir: string, levels: number): Promise<void> => {
    for (const name of await namesIn(dir === "" ? "/" : dir)) {
      const entry = safely(() => readEntry(reader, dir, name));
      if (!entry) continue;
      if (++count > LIMITS.listEntries) throw tooMany(path);
      const told = onEntry(entry);
      if (told) await told;
      if (levels > 1 && entry.type === "FILE_TYPE_DIRECTORY" && !entry.isSymlink) await walk(entry.path, levels - 1);
      const turn = slice.turn();
      if (turn) await turn;
      signal.throwIfAborted();
    }
  };
  await walk(path.replace(/\/+$/, ""), Math.max(depth, 1));
}

function readEntry(reader: EntryReader, dir: string, { text, bytes }: Name): EntryInfo | undefined {
  if (!bytes) return reader.read(`${dir}/${text}`);
  return reader.readBytes(`${dir}/${text}`, Buffer.concat([Buffer.from(`${dir}/`), bytes]));
}

/**
 * The answer of ListDir as text: as objects it would take fifteen times the memory and block the loop while it is encoded. It is claimed as
 * it grows, until its receiver has taken it.
 */
export async function listDirMessage(listing: Listing, claim: BodyClaim): Promise<EncodedMessage> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  let text = '{"entries":[';
  let first = true;
  const cut = () => {
    const piece = encoder.encode(text);
    text = "";
    bytes += piece.length;
    pieces.push(piece);
    return claim.hold(bytes);
  };
  try {
    await listDir(listing, (entry) => {
      const json = encodeMessage(EntryInfoTable, listing.present(entry));
      text += first ? json : `,${json}`;
      first = false;
      return text.length < PIECE_CHARS ? undefined : cut();
    });
    text += "]}";
    await cut();
    return new EncodedMessage(pieces, () => claim.release());
  } catch (error) {
    claim.release();
    throw error;
  }
}

function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

function tooMany(path: string): AppError {
  const message = `'${path}' holds more than ${LIMITS.listEntries} entries; list its directories one by one`;
  return new AppError("failed_precondition", message, { reason: "too_many_entries" });
}
